"""A full count of steps is an end only where nothing but known teardown follows."""

from pathlib import Path

import pytest

from tests.analysis.facts.job_logs import (
    answer,
    bar,
    lightning,
    megatron,
    steps,
    transformers,
    watchdogs,
)

ENDS = {
    "bar": [*steps(bar, 9980, 20, 0), bar(10000, 200)],
    "epoch": [*steps(lightning, 9980, 20, 0), lightning(10000, 200)],
    "iterations": [
        *(line.replace("  90000", "    500") for line in steps(megatron, 481, 20, 0)),
        "saving checkpoint at iteration     500 to /ckpt in torch_dist format",
    ],
    "dict": [
        *steps(transformers, 400, 20, 0),
        "{'train_runtime': 812.3, 'train_samples_per_second': 41.2, 'epoch': 3.0}",
    ],
}
STAMP = "2026-11-20T09:04:{:02d}"
FAILURES = {
    "no space": (
        "[rank0]: OSError: [Errno 28] No space left on device: '/ckpt/model.safetensors'",
        {"storage"},
    ),
    "stale file": ("[rank1]: OSError: [Errno 116] Stale file handle", {"storage"}),
    "out of memory": (
        "[rank2]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.",
        {"gpu_oom"},
    ),
    "ecc": (
        "[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
        {"gpu_hbm", "gpu_sram"},
    ),
    "a bug": ("[rank3]: KeyError: 'eval_accuracy'", {"software_user"}),
    "watchdog": (
        "[rank1]:[E1120 09:14:10.123456 ProcessGroupNCCL.cpp:685] [Rank 1] Watchdog caught"
        " collective operation timeout: WorkNCCL(SeqNum=5111, OpType=_ALLGATHER_BASE, NumelIn=65,"
        " NumelOut=520, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.",
        {"nccl_timeout", "host_stall"},
    ),
    "time limit": (
        "slurmstepd: error: *** STEP 9.0 ON n1 CANCELLED AT 2026-11-20T09:04:00 DUE TO TIME LIMIT"
        " ***",
        {"host_maintenance"},
    ),
    "preempted": (
        "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-11-20T09:04:00 DUE TO PREEMPTION ***",
        {"host_maintenance"},
    ),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("failure", FAILURES)
def test_fails_behind_a_full_count(end: str, failure: str, tmp_path: Path) -> None:
    line, categories = FAILURES[failure]
    told = answer(tmp_path, [*ENDS[end], line])
    assert str(told.verdict.kind) in ("crash", "hang"), told.verdict.summary
    assert str(told.verdict.category) in categories
    assert "ended in order" not in told.verdict.summary


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("failure", ["out of memory", "a bug", "no space"])
def test_exit_code_zero_behind_a_full_count(end: str, failure: str, tmp_path: Path) -> None:
    told = answer(tmp_path, [*ENDS[end], FAILURES[failure][0]], exit_code=0)
    assert str(told.verdict.kind) == "healthy", told.verdict.summary
    assert any("exit code 0" in note for note in told.coverage.notes)


LEAVING = {
    "no process group": (
        "[rank0]:[W1120 09:03:34.2 ProcessGroupNCCL.cpp:1538] Warning: WARNING:"
        " destroy_process_group() was not called before program exit, which can leak resources."
    ),
    "no store": (
        "[rank3]:[W1120 09:03:37.0 TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd=4,"
        " addr=[localhost]:50116, remote=[localhost]:29500): Broken pipe"
    ),
    "no dump flag": (
        "[rank3]:[W1120 09:03:37.0 ProcessGroupNCCL.cpp:1771] [PG ID 0 PG GUID 0(default_pg) Rank"
        ' 3] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut'
        " down too early), with error: Broken pipe"
    ),
    "no thread": (
        "Exception ignored in: <module 'threading' from '/usr/lib/python3.11/threading.py'>\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/threading.py", line 1583, in _shutdown\n'
        "KeyError: 140213"
    ),
    "no loader": (
        "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f1a>\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/v/torch/utils/data/dataloader.py", line 1604, in __del__\n'
        "    self._shutdown_workers()\n"
        "AssertionError: can only test a child process"
    ),
    "a closed connection": "n1:7:9 [0] NCCL INFO [Service thread] Connection closed by localRank 3",
}


@pytest.mark.parametrize("end", [end for end in ENDS if end != "iterations"])
@pytest.mark.parametrize("line", LEAVING)
def test_only_leaves_behind_a_full_count(end: str, line: str, tmp_path: Path) -> None:
    told = answer(tmp_path, [*ENDS[end], LEAVING[line]])
    assert str(told.verdict.kind) == "healthy", told.verdict.summary


UNKNOWN_ERRORS = (
    "[2026-11-20 09:03:40,073] ERROR main: bad batch at index 7",
    "2026-11-20 09:03:40 trainer FATAL the table of shards is gone",
    "The run has failed: see the report of the trainer",
    "Uncaught exception in worker 3, giving up",
)
NO_ERRORS = (
    "2026-11-20 09:03:40 INFO report: 0 failed, 12 done",
    "checks failed: 0",
    "2026-11-20 09:03:40 INFO error bars are drawn at 2 sigma",
)
MOVING = {"bar": [*steps(bar, 400, 20, 0)], "megatron": [*steps(megatron, 400, 20, 0)]}


@pytest.mark.parametrize("form", [*ENDS, *MOVING])
def test_an_error_in_words_that_nobody_knows_proves_no_health(form: str, tmp_path: Path) -> None:
    lines = (ENDS | MOVING)[form]
    # Bars print no clock: that the logs of the nodes are older tells that the job still moved.
    begun = {"started_at": "2026-11-20T09:00:00Z"}
    for number, line in enumerate((*UNKNOWN_ERRORS, *NO_ERRORS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        told = answer(folder, [*lines, line], **begun)
        harmless = line in NO_ERRORS
        assert (str(told.verdict.kind) == "healthy") == harmless, (line, told.verdict.summary)
        if not harmless:
            assert line.split()[-1] in told.verdict.summary
            assert told.suspects == ()
            (folder / "zero").mkdir()
            zero = answer(folder / "zero", [*lines, line], exit_code=0)
            assert str(zero.verdict.kind) == "healthy", zero.verdict.summary
    # What stands before the last step, it got over.
    before = answer(tmp_path, [UNKNOWN_ERRORS[0], *lines], **begun)
    assert str(before.verdict.kind) == "healthy", before.verdict.summary


BROKEN = (
    f"{STAMP.format(30)}.000000+00:00 n2 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=1,"
    " name=python, GPU has fallen off the bus."
)
HARMLESS = (
    f"{STAMP.format(30)}.000000+00:00 n2 kernel: watchdog: BUG: soft lockup - CPU#7 stuck for 26s!"
    " [python:4711]",
    f"{STAMP.format(31)}.000000+00:00 n2 kernel: mlx5_core 0000:1a:00.0: Port module event: module"
    " 0, Cable unplugged",
)


def test_a_lost_gpu_behind_a_full_bar(tmp_path: Path) -> None:
    lines = [f"{STAMP.format(0)}Z INFO start", *ENDS["bar"], f"{STAMP.format(29)}Z INFO saving"]
    told = answer(tmp_path, lines, {"n2": [BROKEN]})
    assert str(told.verdict.kind) == "crash", told.verdict.summary
    assert told.suspects[0].node == "n2"
    told = answer(tmp_path, lines, {"n2": HARMLESS})
    assert str(told.verdict.kind) == "healthy", told.verdict.summary
    told = answer(tmp_path, [*lines, "Training completed."], {"n2": [BROKEN]})
    assert str(told.verdict.kind) == "healthy", told.verdict.summary


def test_ends_and_is_said_to_have_failed(tmp_path: Path) -> None:
    told = answer(tmp_path, ENDS["dict"], exit_code=1)
    assert str(told.verdict.kind) != "healthy"
    assert any("exit code 1" in note for note in told.coverage.notes)


@pytest.mark.parametrize("tried_again", [False, True])
def test_a_checkpoint_that_fails_behind_a_step(tried_again: bool, tmp_path: Path) -> None:
    line = "[rank0]: OSError: [Errno 28] No space left on device"
    line += ", will retry in 30 s" if tried_again else ""
    told = answer(tmp_path, [*steps(megatron, 400, 20, 0), line])
    assert (str(told.verdict.kind) == "healthy") == tried_again, told.verdict.summary


@pytest.mark.parametrize(
    "crash",
    [
        "munmap_chunk(): invalid pointer",
        "free(): invalid pointer",
        "double free or corruption (out)",
    ],
)
def test_a_library_that_crashes_in_aborted_processes_is_no_cause(
    crash: str, tmp_path: Path
) -> None:
    moved = steps(megatron, 400, 20, 0)
    behind = answer(tmp_path, [*moved, *watchdogs(1200), crash], exit_code=1)
    assert str(behind.verdict.category) != "software_framework", behind.verdict.summary
    (tmp_path / "before").mkdir()
    before = answer(tmp_path / "before", [*moved, crash, *watchdogs(1200)], exit_code=1)
    assert str(before.verdict.category) == "software_framework", before.verdict.summary
