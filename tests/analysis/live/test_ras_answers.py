"""Whole answers from reports of NCCL RAS: alone, twice, beside dumps, logs and another job's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.parsers.live.ras.reports import json_rank, json_report, missing_rank, text_report
from triage.report import Report, analyze

WORLD = 16
EARLIER = "2026-03-14 02:41:07"
LATER = "2026-03-14 02:42:07"
Rank = Mapping[str, Any]


def answer(tmp_path: Path, **files: str) -> Report:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return analyze([tmp_path])


def communicators(
    behind: int | None = None, dead: Sequence[int] = (), step: int = 900, *, all_dead: bool = True
) -> list[tuple[str, list[Rank], list[Rank]]]:
    """The world, tensor groups of 4 on each node and data groups across the nodes; ``behind`` has
    not launched the last operation of any, and who waits for it not that of its data group.
    """
    groups = [("0xa0", list(range(WORLD)), "AllReduce", step)]
    groups += [(f"0xb{n}", list(range(4 * n, 4 * n + 4)), "AllGather", 50 * step) for n in range(4)]
    groups += [(f"0xc{n}", list(range(n, WORLD, 4)), "ReduceScatter", 2 * step) for n in range(4)]
    found = []
    for key, members, name, count in groups:
        ranks: list[Rank] = []
        missing: list[Rank] = []
        for place, rank in enumerate(members):
            if rank in dead:
                missing.append(missing_rank(place, world=rank, dead=all_dead))
                continue
            waits = behind is not None and rank // 4 == behind // 4 and name == "ReduceScatter"
            late = rank == behind or waits
            ranks.append(json_rank(place, {name: count - late}, world=rank))
        found.append((key, ranks, missing))
    return found


def report(behind: int | None = None, dead: Sequence[int] = (), **changes: Any) -> str:
    at = changes.pop("at", EARLIER)
    return json_report(communicators(behind, dead, **changes), at)


def culprits(found: Report) -> list[tuple[str | None, tuple[int, ...], str]]:
    return [(one.node, one.ranks, str(one.role)) for one in found.answer.suspects]


def test_two_looks_alone_name_the_rank_that_is_behind_with_its_process(tmp_path: Path) -> None:
    found = answer(tmp_path, ras_1=report(6), ras_2=report(6, at=LATER))

    assert culprits(found) == [("10.1.0.2", (6,), "culprit")]
    verdict = found.verdict
    assert (verdict.kind, verdict.category) == ("hang", "host_stall")
    assert verdict.confidence >= 0.85
    assert "pid 7006, GPU 2" in verdict.summary
    assert (
        "rank 6 (10.1.0.2, pid 7006, GPU 2) launched 899 AllReduce, its 15 peers 900, the same in"
        " two looks"
    ) in [one.text for one in found.answer.suspects[0].because]
    assert verdict.cordon == ()


def test_one_look_names_the_rank_and_convicts_nobody(tmp_path: Path) -> None:
    found = answer(tmp_path, ras=report(6))

    assert culprits(found) == [("10.1.0.2", (6,), "possible")]
    assert found.verdict.kind == "inconclusive"


def test_counters_that_moved_name_nobody(tmp_path: Path) -> None:
    found = answer(tmp_path, ras_1=report(6), ras_2=report(9, step=950, at=LATER))

    assert culprits(found) == []
    assert found.verdict.kind == "inconclusive"
    assert any("moved" in note for note in found.answer.coverage.notes)


def test_two_looks_of_one_second_are_one(tmp_path: Path) -> None:
    found = answer(tmp_path, ras_1=report(6), ras_2=report(6, at="2026-03-14 02:41:09"))

    assert [role for _, _, role in culprits(found)] == ["possible"]


def test_all_launched_is_no_proof_of_health(tmp_path: Path) -> None:
    found = answer(tmp_path, ras_1=report(), ras_2=report(at=LATER))

    assert found.verdict.kind == "inconclusive"
    assert culprits(found) == []
    assert any("no proof of health" in note for note in found.answer.coverage.notes)


def test_the_one_dead_process_of_a_node_is_named(tmp_path: Path) -> None:
    found = answer(tmp_path, ras=report(dead=[13]))

    assert culprits(found) == [("10.1.0.4", (13,), "culprit")]
    assert found.verdict.kind == "crash"
    assert "pid 7013, GPU 1" in found.verdict.summary


def test_all_dead_processes_of_a_node_are_the_node(tmp_path: Path) -> None:
    found = answer(tmp_path, ras=report(dead=[12, 13, 14, 15]))

    assert culprits(found) == [("10.1.0.4", (12, 13, 14, 15), "culprit")]
    assert "the node or its network" in found.verdict.summary


def test_where_most_of_the_job_is_silent_the_asker_may_be_cut_off(tmp_path: Path) -> None:
    found = answer(tmp_path, ras=report(dead=list(range(4, 16)), all_dead=False))

    assert culprits(found) == []


def test_who_is_behind_because_it_waits_for_a_dead_process_is_not_named(tmp_path: Path) -> None:
    found = answer(tmp_path, a=report(12, dead=[13]), b=report(12, dead=[13], at=LATER))

    assert culprits(found) == [("10.1.0.4", (13,), "culprit")]


def test_silence_of_a_job_that_moves_is_no_claim(tmp_path: Path) -> None:
    found = answer(
        tmp_path,
        a=report(dead=[13], all_dead=False),
        b=report(dead=[13], all_dead=False, step=950, at=LATER),
    )

    assert culprits(found) == []


def test_the_listed_ranks_that_are_ahead_are_never_named(tmp_path: Path) -> None:
    warnings = """#0-0 (0c) MISMATCH
  Communicator ranks have different AllReduce operation counts
  13 ranks have launched up to operation 911
  3 ranks have launched up to operation 912
  Rank 3 -- GPU 3 managed by process 7003 on node 10.1.0.1
  Rank 9 -- GPU 1 managed by process 7009 on node 10.1.0.3
  Rank 10 -- GPU 2 managed by process 7010 on node 10.1.0.3
"""
    text = text_report(warnings=warnings)

    found = answer(tmp_path, ras_1=text, ras_2=text)

    assert culprits(found) == []
    assert any("13 ranks are behind" in note for note in found.answer.coverage.notes)


def test_the_first_error_is_named_and_not_those_that_heard_of_it(tmp_path: Path) -> None:
    ranks = [json_rank(rank, {}, async_error=1 if rank == 5 else 6) for rank in range(WORLD)]

    found = answer(tmp_path, ras=json_report([("0xa0", ranks, [])]))

    assert culprits(found) == [("10.1.0.2", (5,), "culprit")]
    assert "Unhandled CUDA error" in found.verdict.summary


def test_remote_errors_alone_name_nobody(tmp_path: Path) -> None:
    ranks = [json_rank(rank, {}, async_error=6) for rank in range(WORLD)]

    assert culprits(answer(tmp_path, ras=json_report([("0xa0", ranks, [])]))) == []


def test_a_rank_that_launched_something_else_is_a_mismatch(tmp_path: Path) -> None:
    usual = {"AllGather": 40, "AllReduce": 20}
    ranks = [
        json_rank(rank, {"AllGather": 41, "AllReduce": 19} if rank == 3 else usual)
        for rank in range(WORLD)
    ]
    first, second = (json_report([("0xa0", ranks, [])], at) for at in (EARLIER, LATER))

    found = answer(tmp_path, a=first, b=second)

    assert culprits(found) == [("10.1.0.1", (3,), "culprit")]
    assert (found.verdict.kind, found.verdict.category) == ("desync", "collective_mismatch")


@pytest.mark.parametrize(("in_set_up", "named"), [(15, []), (1, [("10.1.0.1", (0,), "culprit")])])
def test_a_set_up_that_hangs(
    tmp_path: Path, in_set_up: int, named: list[tuple[str, tuple[int, ...], str]]
) -> None:
    ranks = [
        json_rank(rank, {"AllReduce": 0}, init_state=7 if rank < in_set_up else 0)
        for rank in range(WORLD)
    ]
    first, second = (json_report([("0xa0", ranks, [])], at) for at in (EARLIER, LATER))

    found = answer(tmp_path, a=first, b=second)

    assert culprits(found) == named
    assert found.verdict.kind == "hang"


def test_the_nodes_are_called_as_the_job_calls_them(tmp_path: Path) -> None:
    job = {"world_size": WORLD, "gpus_per_node": 4, "nodes": [f"gpu-n0{n}" for n in range(1, 5)]}

    found = answer(tmp_path, **{"job.json": json.dumps(job)}, a=report(6), b=report(6, at=LATER))

    assert culprits(found) == [("gpu-n02", (6,), "culprit")]
    assert "rank 6 (gpu-n02, pid 7006, GPU 2)" in found.answer.suspects[0].because[0].text


def test_ranks_that_the_job_numbers_otherwise_are_not_believed(tmp_path: Path) -> None:
    seats = {str(rank): f"10.1.0.{4 - rank // 4}" for rank in range(WORLD)}
    job = {"world_size": WORLD, "rank_to_node": seats}

    found = answer(tmp_path, **{"job.json": json.dumps(job)}, a=report(6), b=report(6, at=LATER))

    assert culprits(found) == [("10.1.0.2", (), "culprit")]


def test_a_report_on_a_larger_job_is_set_aside(tmp_path: Path) -> None:
    job = {"world_size": 8, "gpus_per_node": 4, "nodes": ["a", "b"]}

    found = answer(tmp_path, **{"job.json": json.dumps(job)}, a=report(6), b=report(6, at=LATER))

    assert culprits(found) == []
    assert any("of a job of 16 ranks" in note for note in found.answer.coverage.notes)


def test_of_two_jobs_on_one_port_nobody_is_named_where_nothing_tells_them_apart(
    tmp_path: Path,
) -> None:
    text = report(6)
    other = text.replace('"pid": 70', '"pid": 90').replace('"hash": "0x', '"hash": "0xf')

    found = answer(tmp_path, a=text, b=other)

    assert culprits(found) == []
    assert any("of several jobs" in note for note in found.answer.coverage.notes)


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    one = answer(tmp_path / "x", a=report(6), b=report(6, at=LATER)).to_dict()["verdict"]
    two = answer(tmp_path / "y", b=report(6), a=report(6, at=LATER)).to_dict()["verdict"]

    assert one == two


def test_a_cut_report_names_what_it_shows(tmp_path: Path) -> None:
    whole = report(6)
    found = answer(tmp_path, ras=whole[: whole.index('"0xb2"')])

    assert culprits(found) == [("10.1.0.2", (6,), "possible")]
    assert [one.artifact for one in found.answer.coverage.partial] == ["ras"]
