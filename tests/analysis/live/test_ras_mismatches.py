"""NCCL RAS: swapped counts, laggards known by address, ranks that the text does not list."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import triage
from tests.support.ras_texts import Counts, ras_json, ras_text
from tests.support.stack_texts import LOADER, REDUCE, Frame, py_spy_text
from triage.domain.report import Answer

TIMES = ("2026-04-24 16:10:55", "2026-04-24 16:11:55")
USUAL = {"AllReduce": 5000, "AllGather": 40, "Broadcast": 2}


def answer_to(
    folder: Path, reports: Sequence[Counts], form: str = "text", **options: object
) -> Answer:
    job = {"job_id": "9", "world_size": len(reports[0]), "nodes": ["gpu-a", "gpu-b"],
           "gpus_per_node": len(reports[0]) // 2}  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / "job.json").write_text(json.dumps(options.pop("job", job)))
    for at, counts in zip(TIMES, reports, strict=False):
        name = at.replace("-", "").replace(":", "").replace(" ", "_")
        if form == "json":
            (folder / f"ras_{name}.json").write_text(ras_json(counts, at))
        else:
            text = ras_text(counts, version=form.partition(" ")[2] or "2.27.7")
            (folder / f"ras_{name}.txt").write_text(text)
    return triage.analyze(folder).answer


def swapped(rank: int, ranks: int = 8, **counts: int) -> list[dict[str, int]]:
    return [{**USUAL, **(counts if one == rank else {})} for one in range(ranks)]


@pytest.mark.parametrize("form", ["text 2.27.7", "text 2.29.2", "json"])
@pytest.mark.parametrize("rank", [0, 2, 7])
@pytest.mark.parametrize(
    "counts",
    [
        {"AllReduce": 4999, "AllGather": 41},
        {"AllReduce": 5001, "AllGather": 39},
        {"Broadcast": 3, "AllReduce": 4990},
    ],
)
def test_who_launched_more_of_one_and_fewer_of_another(
    tmp_path: Path, form: str, rank: int, counts: dict[str, int]
) -> None:
    answer = answer_to(tmp_path, [swapped(rank, **counts)] * 2, form)
    assert (answer.verdict.kind, answer.verdict.category) == ("desync", "collective_mismatch")
    assert [one.ranks for one in answer.suspects] == [(rank,)]


@pytest.mark.parametrize("form", ["text", "json"])
def test_who_launched_fewer_of_all_is_behind_and_no_mismatch(tmp_path: Path, form: str) -> None:
    answer = answer_to(tmp_path, [swapped(3, AllReduce=4999, AllGather=39)] * 2, form)
    assert (answer.verdict.kind, answer.verdict.category) == ("hang", "host_stall")
    assert [one.ranks for one in answer.suspects] == [(3,)]


@pytest.mark.parametrize("looks", [1, 2])
def test_ranks_that_are_not_listed_are_out_of_step(tmp_path: Path, looks: int) -> None:
    """Four against four: the text lists nobody, and where twelve are behind, those ahead."""
    for name, odd in (("half", range(4)), ("ahead", range(5, 8))):
        counts = [{"AllReduce": 5000 + (rank in odd)} for rank in range(8)]
        answer = answer_to(tmp_path / name, [counts] * looks)
        verdict = answer.verdict
        assert verdict.kind == ("desync" if looks == 2 else "inconclusive"), name
        assert not [one for one in answer.suspects if one.role == "culprit"]
        assert "launched 5000 AllReduce" in verdict.summary
        assert "JSON" in verdict.summary
        assert ("once more" in verdict.summary) == (looks == 1)


def test_ranks_that_are_not_listed_and_moved_say_nothing(tmp_path: Path) -> None:
    reports = [[{"AllReduce": at + (rank < 4)} for rank in range(8)] for at in (5000, 5029)]
    assert "out of step" not in answer_to(tmp_path, reports).verdict.summary


def of_four(rank: int) -> list[dict[str, int]]:
    return [{"AllReduce": 5000 - (one == rank)} for one in range(4)]


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_address_is_no_node_where_nodes_have_names(tmp_path: Path, form: str) -> None:
    job = {"job_id": "9", "world_size": 8, "nodes": ["gpu-a", "gpu-b"], "gpus_per_node": 4}
    answer = answer_to(tmp_path, [of_four(2)] * 2, form, job=job)
    assert answer.verdict.kind == "hang"
    assert answer.suspects == ()
    assert "10.4.7.11, pid 4002, GPU 2" in answer.verdict.summary
    assert answer.verdict.cordon == ()


def test_an_address_is_a_node_where_it_is_all_that_is_known(tmp_path: Path) -> None:
    bare = answer_to(tmp_path / "bare", [of_four(2)] * 2, job={"job_id": "9"})
    assert [one.node for one in bare.suspects] == ["10.4.7.11"]
    job = {"job_id": "9", "world_size": 8, "nodes": ["10.4.7.11", "10.4.7.12"], "gpus_per_node": 4}
    listed = answer_to(tmp_path / "listed", [of_four(2)] * 2, job=job)
    assert [one.node for one in listed.suspects] == ["10.4.7.11"]


DEVICE: Sequence[Frame] = (
    ("synchronize", "torch/cuda/__init__.py", 1219), ("train_step", "pretrain.py", 30),
    ("main", "pretrain.py", 38), ("<module>", "pretrain.py", 43),
)  # fmt: skip


def with_stacks(
    folder: Path, shown: Sequence[Sequence[Frame]], moments: Sequence[str], at: Sequence[int]
) -> Answer:
    for moment in moments:
        own = folder / "stacks" / moment
        own.mkdir(parents=True)
        for rank, frames in enumerate(shown):
            (own / f"rank_{rank}.txt").write_text(py_spy_text(4000 + rank, frames))
    return answer_to(folder, [[{"AllReduce": one}] * 8 for one in at], "json")


SAME_TIMES = ("20260424_161057", "20260424_161157")


@pytest.mark.parametrize("frames", [DEVICE, REDUCE])
def test_counters_that_go_on_while_stacks_are_alike_are_a_job_that_runs(
    tmp_path: Path, frames: Sequence[Frame]
) -> None:
    answer = with_stacks(tmp_path, [frames] * 8, SAME_TIMES, (5000, 5029))
    assert (answer.verdict.kind, answer.suspects) == ("healthy", ())
    assert "slow" not in answer.verdict.summary


def test_counters_that_stand_while_stacks_are_alike_are_a_hang(tmp_path: Path) -> None:
    answer = with_stacks(tmp_path, [DEVICE] * 8, SAME_TIMES, (5000, 5000))
    assert answer.verdict.kind == "hang"


def test_counters_that_moved_before_the_stacks_were_taken(tmp_path: Path) -> None:
    later = ("20260424_161300", "20260424_161400")
    odd = [LOADER if rank == 5 else REDUCE for rank in range(8)]
    answer = with_stacks(tmp_path, odd, later, (5000, 5029))
    assert answer.verdict.kind == "hang"
    assert answer.suspects[0].ranks == (5,)


def test_a_rank_seen_twice_in_its_loader_of_a_job_that_runs_is_not_stuck(tmp_path: Path) -> None:
    odd = [LOADER if rank == 5 else REDUCE for rank in range(8)]
    answer = with_stacks(tmp_path, odd, SAME_TIMES, (5000, 5029))
    assert answer.verdict.kind == "straggler"
    assert [one.role for one in answer.suspects] == ["possible"]
