"""Attempts in logs of their own, lines that begin with a node's name, ends by exit code 0."""

import json
from pathlib import Path

import pytest

import triage
from tests.analysis.facts.job_logs import JOB, megatron, steps, transformers, watchdogs
from triage.domain.report import Answer

ECC = "[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
BUG = "[rank3]: KeyError: 'input_ids'"


def answer(folder: Path, files: dict[str, list[str]], **facts: object) -> Answer:
    (folder / "job.json").write_text(json.dumps({**JOB, **facts}))
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return triage.analyze(folder).answer


@pytest.mark.parametrize(
    ("first", "second", "make"),
    [
        ("attempt_0/train.log", "attempt_1/train.log", transformers),
        ("run-restart1.log", "run-restart2.log", transformers),
        ("slurm-88119.out", "slurm-88120.out", megatron),
    ],
)
def test_an_attempt_in_a_log_of_its_own_is_over(
    first: str, second: str, make: object, tmp_path: Path
) -> None:
    files = {
        first: [*steps(make, 400, 10, 0), ECC],  # type: ignore[arg-type]
        second: [*steps(make, 405, 30, 600), BUG],  # type: ignore[arg-type]
    }
    told = answer(tmp_path, files, exit_code=1)
    assert str(told.verdict.category) == "software_user", told.verdict.summary
    assert told.verdict.cordon == ()


def test_logs_of_ranks_are_of_one_attempt(tmp_path: Path) -> None:
    files = {
        "rank_0.log": [*steps(megatron, 400, 30, 0), *watchdogs(900, [0])],
        "rank_5.log": [*steps(megatron, 400, 10, 0), ECC],
    }
    told = answer(tmp_path, files, exit_code=1)
    assert str(told.verdict.category) in ("gpu_hbm", "gpu_sram"), told.verdict.summary


@pytest.mark.parametrize("mark", ["[n2:1] ", "(n2) ", "n2: 5: ", "(n2-1) ", "rank=5 host=n2 "])
def test_a_line_is_of_the_node_that_it_begins_with(mark: str, tmp_path: Path) -> None:
    line = mark + ECC.partition(": ")[2]
    files = {"nodes/n1/train.log": [*steps(megatron, 400, 10, 0), line]}
    told = answer(tmp_path, files, exit_code=1)
    assert "n1" not in {one.node for one in told.suspects}, told.verdict.summary
    assert told.suspects[0].node == "n2"


def test_what_is_said_of_another_node_is_not_its_line(tmp_path: Path) -> None:
    line = "RuntimeError: CUDA error: uncorrectable ECC error encountered on the way to n2"
    files = {"nodes/n1/train.log": [*steps(megatron, 400, 10, 0), line]}
    told = answer(tmp_path, files, exit_code=1)
    assert told.suspects[0].node == "n1"


def test_a_job_that_ended_with_exit_code_0_outlived_what_it_said(tmp_path: Path) -> None:
    files = {"train.log": [*steps(transformers, 400, 10, 0), ECC]}
    told = answer(tmp_path, files, exit_code=0)
    assert str(told.verdict.kind) in ("healthy", "inconclusive")
    assert told.verdict.cordon == ()
    assert any("exit code 0" in note for note in told.coverage.notes)


def test_watchdogs_of_an_earlier_attempt_name_nobody(tmp_path: Path) -> None:
    odd = [line.replace("ALLREDUCE", "ALLGATHER") for line in watchdogs(900, [1])]
    lines = [
        *steps(megatron, 400, 10, 0), *odd, *watchdogs(900, [0, 2, 3, 4, 5, 6, 7]),
        "[default] Worker group FAILED. 2/3 attempts left; will restart worker group",
        *steps(megatron, 400, 60, 1000),
    ]  # fmt: skip
    told = answer(tmp_path, {"train.log": lines})
    assert [one for one in told.suspects if str(one.role) == "culprit"] == []


@pytest.mark.parametrize(("gpu", "own"), [("0000:5d:00", False), ("0000:11:00", True)])
def test_a_gpu_that_no_process_joined_is_not_the_jobs(gpu: str, own: bool, tmp_path: Path) -> None:
    joined = [
        f"n{1 + rank // 4}:{410 + rank}:{520 + rank} [{rank % 4}] NCCL INFO ncclCommInitRank comm"
        f" 0x55aa{rank:04x} rank {rank} nranks 8 cudaDev {rank % 4} nvmlDev {rank % 4} busId"
        f" {16 + rank % 4:x}000 commId 0x8fe1d2 - Init COMPLETE"
        for rank in range(8)
    ]
    xid = (
        "2026-11-20T09:03:21.000000+00:00 n2 kernel: NVRM: Xid"
        f" (PCI:{gpu}): 79, pid=9, name=other, GPU has fallen off the bus."
    )
    files = {
        "train.log": [*joined, *steps(megatron, 400, 20, 0), *watchdogs(801)],
        "nodes/n2/kernel.log": [xid],
    }
    told = answer(tmp_path, files, exit_code=1)
    assert (told.verdict.cordon == ("n2",)) == own, told.verdict.summary
