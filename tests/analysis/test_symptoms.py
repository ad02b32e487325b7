"""What was seen first is always said where no cause is known; and what to do next, always."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import triage
from simulator import simulate
from triage.render.terminal.text import render


def answer(folder: Path, lines: Sequence[str], world: int = 4) -> triage.Report:
    folder.mkdir(exist_ok=True)
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    facts = {"job_id": "j7", "world_size": world, "gpus_per_node": 2, "nodes": ["a1", "a2"]}
    (folder / "job.json").write_text(json.dumps(facts))
    return triage.analyze(folder)


def gave_up(rank: int, number: int = 912, group: str | None = "default_pg") -> list[str]:
    head = f"[rank{rank}]:[E1206 18:44:1{rank}.7152987{rank:02d} ProcessGroupNCCL.cpp:"
    lines = [
        f"{head}632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum="
        f"{number}, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600035"
        " milliseconds before timing out."
    ]
    if group is not None:
        lines.append(
            f"{head}2268] [PG ID 0 PG GUID 0({group}) Rank {rank}]  failure detected by watchdog at"
            f" work sequence id: {number} PG status: last enqueued work: {number}, last completed"
            f" work: {number - 1}"
        )
    return lines


def test_the_first_timeout_with_all_that_it_says(tmp_path: Path) -> None:
    report = answer(tmp_path, [line for rank in (1, 0, 2, 3) for line in gave_up(rank)])
    (first, *_) = report.to_dict()["symptoms"]
    assert {key: first[key] for key in ("rank", "node", "op", "seq_id", "pg", "num_ranks")} == {
        "rank": 0, "node": "a1", "op": "ALLREDUCE", "seq_id": 912, "pg": "default_pg",
        "num_ranks": 4,
    }  # fmt: skip
    assert (first["artifact"], first["line"]) == ("job.log", 3)
    assert "Watchdog caught" in first["text"]
    text = render(report.answer)
    assert "Seen first" in text
    assert "number 912" in text
    assert text.index("Next step") < text.index("Seen first") < text.index("Suspects")


def test_the_same_in_all_groups_is_one_each(tmp_path: Path) -> None:
    lines = [*gave_up(0, 5, None), *gave_up(1, 5, None), *gave_up(2, 7, None)]
    symptoms = answer(tmp_path, lines).answer.symptoms
    assert [(one.seq_id, one.num_ranks) for one in symptoms] == [(5, 2), (7, 1)]


@pytest.mark.parametrize(
    "line",
    [
        "a1:8812:8901 [0] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote"
        " peer a2<40112>",
        "a1:8812:8901 [0] NCCL INFO transport/net_ib.cc:877 -> 2",
    ],
)
def test_a_line_that_only_follows_is_shown(line: str, tmp_path: Path) -> None:
    report = answer(tmp_path, [line])
    assert not any(suspect.role == "culprit" for suspect in report.answer.suspects)
    (first, *_) = report.answer.symptoms
    assert first.line == 1
    assert first.text in line


def test_a_known_cause_needs_no_symptom(tmp_path: Path) -> None:
    lines = ["[rank2]: KeyError: 'tokens'", *gave_up(0), *gave_up(1)]
    report = answer(tmp_path, lines)
    assert report.verdict.category == "software_user"
    assert "symptoms" not in report.to_dict()


def test_dumps_that_name_nobody_say_where_ranks_wait(tmp_path: Path) -> None:
    simulate("fabric-stall", tmp_path, ranks=8, entries=400, seed=3)
    report = triage.analyze(tmp_path)
    (first, *_) = report.answer.symptoms
    assert first.num_ranks >= 2
    assert first.seq_id is not None


KINDS = ["healthy", "host-stall", "mismatch-op", "fabric-stall", "straggler"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_report_says_what_to_do_next(kind: str, tmp_path: Path) -> None:
    simulate(kind, tmp_path, ranks=8, entries=400, seed=3)
    report = triage.analyze(tmp_path).to_dict()
    assert report["next_step"]["text"]
    if report["suspects"]:
        assert report["next_step"]["commands"]
    for command in report["next_step"]["commands"]:
        assert set(command) == {"where", "command", "why"}
        assert all(command.values())


def test_a_service_that_got_nothing_says_what_to_do_next() -> None:
    from triage.domain.job import Job

    report = triage.report.build_report((), Job(job_id="j7")).to_dict()
    assert report["next_step"]["text"]
    assert report["next_step"]["commands"]


@pytest.mark.parametrize("node", ["a1;reboot", "$(id)", "-oProxyCommand=x", "a1\u202e"])
def test_no_command_holds_a_strange_name(node: str, tmp_path: Path) -> None:
    facts = {"job_id": "j7", "world_size": 4, "gpus_per_node": 4, "nodes": [node]}
    (tmp_path / "job.json").write_text(json.dumps(facts))
    (tmp_path / "job.log").write_text("[rank2]: KeyError: 'tokens'\n")
    for command in triage.analyze(tmp_path).to_dict()["next_step"]["commands"]:
        assert node not in command["where"] + command["command"]
