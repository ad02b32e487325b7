"""Attempts in logs of their own, lines that begin with a node's name, ends by exit code 0."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import triage
from tests.analysis.facts.job_logs import (
    JOB,
    bar,
    maxtext,
    megatron,
    steps,
    transformers,
    watchdogs,
)
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


XID = (
    "2026-11-20T09:01:41.000000+00:00 n2 kernel: NVRM: Xid (PCI:0000:5d:00): 48, pid=9,"
    " name=python, An uncorrectable double bit error (DBE) has been detected on GPU in the"
    " framebuffer at partition 6, subpartition 0."
)


@pytest.mark.parametrize("make", [transformers, maxtext, bar])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("train.0.log", "train.1.log"),
        ("train_20261120_090000.log", "train_20261120_113000.log"),
        ("logs/4711/rank_0.log", "logs/4712/rank_0.log"),
        ("slurm-4711.out", "slurm-4712.out"),
    ],
)
def test_undated_logs_are_attempts_where_steps_go_on(
    first: str, second: str, make: Callable[[int, float], str], tmp_path: Path
) -> None:
    files = {
        first: [*steps(make, 400, 10, 0), ECC],
        second: [*steps(make, 405, 30, 600), BUG],
        "nodes/n2/kernel.log": [XID],
    }
    told = answer(tmp_path, files, exit_code=1)
    assert str(told.verdict.category) == "software_user", told.verdict.summary
    assert told.verdict.cordon == ()
    assert [one.node for one in told.suspects if str(one.role) == "culprit"] == ["n1"]


def test_logs_of_errors_are_counted_with_those_of_steps(tmp_path: Path) -> None:
    files = {
        "train.0.out": steps(maxtext, 400, 10, 0), "train.0.err": [ECC],
        "train.1.out": steps(maxtext, 405, 30, 0), "train.1.err": [BUG],
    }  # fmt: skip
    told = answer(tmp_path, files, exit_code=1)
    assert str(told.verdict.category) == "software_user", told.verdict.summary


def test_each_agent_of_torchrun_names_its_folder_by_chance(tmp_path: Path) -> None:
    files = {
        "nodes/n1/none_k3_x81qa/attempt_0/0/stdout.log": steps(maxtext, 400, 10, 0),
        "nodes/n2/none_8gh_w1z2/attempt_0/1/stderr.log": [ECC],
        "nodes/n1/none_k3_x81qa/attempt_1/0/stdout.log": steps(maxtext, 400, 30, 0),
        "nodes/n1/none_k3_x81qa/attempt_1/3/stderr.log": [BUG],
    }
    told = answer(tmp_path, files, exit_code=1)
    assert str(told.verdict.category) == "software_user", told.verdict.summary


def test_a_second_run_of_a_launcher_counts_its_attempts_anew(tmp_path: Path) -> None:
    files = {
        "none_k3_x81qa/attempt_0/0/stdout.log": steps(maxtext, 400, 10, 0),
        "none_k3_x81qa/attempt_1/0/stdout.log": steps(maxtext, 405, 10, 0),
        "none_8gh_w1z2/attempt_0/0/stdout.log": steps(maxtext, 411, 10, 0),
        "none_8gh_w1z2/attempt_0/5/stderr.log": [ECC],
    }
    told = answer(tmp_path, files, exit_code=1)
    assert str(told.verdict.category) == "gpu_hbm", told.verdict.summary


@pytest.mark.parametrize("job_id", ["4711", "4712"])
def test_of_two_jobs_that_begin_alike_the_one_of_job_json_is_judged(
    job_id: str, tmp_path: Path
) -> None:
    files = {
        "slurm-4711.out": [*steps(maxtext, 0, 10, 0), ECC],
        "slurm-4712.out": [*steps(maxtext, 0, 30, 600), BUG],
    }
    told = answer(tmp_path, files, exit_code=1, job_id=job_id)
    expected = "gpu_hbm" if job_id == "4711" else "software_user"
    assert str(told.verdict.category) == expected, told.verdict.summary


@pytest.mark.parametrize("make", [transformers, maxtext, bar])
@pytest.mark.parametrize(("since", "count"), [(400, 11), (400, 30), (403, 8), (403, 7)])
@pytest.mark.parametrize(
    ("first", "second"), [("train.0.log", "train.1.log"), ("n1.log", "n2.log")]
)
def test_logs_of_ranks_that_step_alike_are_no_attempts(
    first: str,
    second: str,
    since: int,
    count: int,
    make: Callable[[int, float], str],
    tmp_path: Path,
) -> None:
    """One may be a step further, have lost what it held back, or be cut at its head."""
    files = {
        first: [*steps(make, 400, 10, 0), ECC],
        second: steps(make, since, count, 0),
        "nodes/n2/kernel.log": [XID],
    }
    told = answer(tmp_path, files, exit_code=1)
    assert told.verdict.cordon == ("n2",), told.verdict.summary


def test_logs_of_ranks_are_of_one_attempt(tmp_path: Path) -> None:
    files = {
        "rank_0.log": [*steps(megatron, 400, 30, 0), *watchdogs(900, [0])],
        "rank_5.log": [*steps(megatron, 400, 10, 0), ECC],
    }
    told = answer(tmp_path, files, exit_code=1)
    assert str(told.verdict.category) in ("gpu_hbm", "gpu_sram"), told.verdict.summary


@pytest.mark.parametrize(
    "mark",
    [
        "[n2:1] ",
        "(n2) ",
        "n2: 5: ",
        "(n2-1) ",
        "rank=5 host=n2 ",
        "[slowcheck n2] ",
        "[dcgmi diag n2] ",
    ],
)
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
