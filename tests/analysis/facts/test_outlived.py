"""What the job outlived is no start of its stop and no cause; what stands at its end is."""

from pathlib import Path

import pytest

from tests.analysis.facts.job_logs import (
    FORMS,
    answer,
    bar,
    clock,
    culprits,
    maxtext,
    megatron,
    steps,
    transformers,
    watchdogs,
)

# One more line in a log, and of what category it would be a cause.
ERRORS = {
    "a port": "n1:410:520 [0] NCCL WARN NET/IB : Got async event : port error",
    "out of memory": (
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has"
        " a total capacity of 79.15 GiB"
    ),
    "a traceback": (
        "Traceback (most recent call last):\n"
        '  File "/opt/train/hooks.py", line 7, in push\n    self.send()\n'
        "ValueError: the table of metrics has no column step"
    ),
    "the store": (
        "[W1120 09:01:00.000000000 socket.cpp:759] [c10d] The client socket has failed to connect"
        " to [n1]:29500 (errno: 111 - Connection refused)."
    ),
    "metrics": (
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='m.example.org', port=443):"
        " Max retries exceeded with url: /v1"
    ),
    "a skipped step": ("[rank0]: found inf in gradients, skipping step, loss scale 32768 -> 16384"),
    "a kernel launch": "[rank2]: RuntimeError: CUDA error: an illegal memory access",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("error", ERRORS)
def test_a_line_that_the_job_outlived(error: str, form: str, tmp_path: Path) -> None:
    make = FORMS[form]
    lines = [*steps(make, 400, 10, 0), ERRORS[error], *steps(make, 410, 20, 100)]
    ended = answer(tmp_path, lines, exit_code=0)
    assert str(ended.verdict.kind) == "healthy", ended.verdict.summary
    hung = answer(tmp_path, [*lines, *watchdogs(1200)], exit_code=1)
    assert str(hung.verdict.kind) in ("hang", "inconclusive")
    assert culprits(hung) == []
    assert hung.verdict.cordon == ()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("behind", [0, 1])
def test_one_step_may_have_been_under_way(form: str, behind: int, tmp_path: Path) -> None:
    make = FORMS[form]
    lines = [
        *steps(make, 400, 10, 0),
        ERRORS["out of memory"],
        *steps(make, 410, behind, 100),
        *watchdogs(700, [0, 1, 2, 4, 5, 6, 7]),
    ]
    told = answer(tmp_path, lines, exit_code=1)
    assert str(told.verdict.category) == "gpu_oom", told.verdict.summary
    assert told.suspects[0].ranks == (3,)


def test_the_same_step_printed_by_every_rank(tmp_path: Path) -> None:
    late = [f"[rank{rank}] {maxtext(410, 0)}" for rank in range(8) if rank != 3]
    lines = [*steps(maxtext, 400, 10, 0), ERRORS["out of memory"], *late, *watchdogs(700)]
    assert str(answer(tmp_path, lines, exit_code=1).verdict.category) == "gpu_oom"


@pytest.mark.parametrize("form", [transformers, maxtext])
def test_steps_that_waited_in_a_buffer(form: object, tmp_path: Path) -> None:
    """A process flushes what it printed behind the traceback that ended it."""
    lines = [
        "[rank0]: Traceback (most recent call last):",
        '[rank0]:   File "/opt/train/train.py", line 210, in <module>',
        "[rank0]: KeyError: 'labels'",
        *steps(form, 400, 30, 0),  # type: ignore[arg-type]
        f"E{clock(400, '%m%d %H:%M:%S.123000')} 4000 torch/distributed/elastic/multiprocessing/"
        "api.py:874] failed (exitcode: 1) local_rank: 0 (pid: 4109) of binary: /usr/bin/python3",
    ]
    told = answer(tmp_path, lines, exit_code=1)
    assert str(told.verdict.category) == "software_user", told.verdict.summary
    assert told.suspects[0].ranks == (0,)


def test_steps_of_earlier_that_another_process_held_back(tmp_path: Path) -> None:
    error = (
        f"[rank0]:[E{clock(400, '%m%d %H:%M:%S.123456')} train.py:9] RuntimeError: CUDA error:"
        " uncorrectable ECC error encountered"
    )
    lines = [*steps(megatron, 400, 10, 300), error, *steps(megatron, 380, 20, 100)]
    told = answer(tmp_path, lines, exit_code=1)
    assert str(told.verdict.category) in ("gpu_hbm", "gpu_sram"), told.verdict.summary


def test_a_bar_that_is_drawn_again_when_it_closes(tmp_path: Path) -> None:
    lines = [*steps(bar, 400, 10, 0), ERRORS["a kernel launch"], bar(409, 95), bar(409, 96)]
    told = answer(tmp_path, lines, exit_code=1)
    assert str(told.verdict.kind) == "crash"
    assert told.suspects[0].ranks == (2,)


def test_what_was_outlived_is_said(tmp_path: Path) -> None:
    lines = [*steps(megatron, 400, 10, 0), ERRORS["a traceback"], *steps(megatron, 410, 20, 100)]
    told = answer(tmp_path, [*lines, *watchdogs(1200)], exit_code=1)
    assert any("the job went on" in note for note in told.coverage.notes)


def test_a_log_too_long_to_keep_every_line_of(tmp_path: Path) -> None:
    many = steps(maxtext, 0, 9000, 0)
    for behind in (1, 3):
        lines = [*many[:-behind], ERRORS["out of memory"], *many[-behind:], *watchdogs(90_700)]
        told = answer(tmp_path, lines, exit_code=1)
        assert (str(told.verdict.category) == "gpu_oom") == (behind == 1), behind


RESTARTS = {
    "torchrun": [
        "E1120 09:05:10.123000 4000 torch/distributed/elastic/multiprocessing/api.py:874] failed"
        " (exitcode: 1) local_rank: 1 (pid: 4109) of binary: /usr/bin/python3",
        "I1120 09:05:11.123000 4000 torch/distributed/elastic/agent/server/api.py:875] [default]"
        " Worker group FAILED. 2/3 attempts left; will restart worker group",
    ],
    "ray": [
        "(TrainController pid=812) Restarting all workers of the run after a failure.",
    ],
    "slurm": [
        "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-11-20T09:05:11 DUE TO JOB"
        " REQUEUE ***",
    ],
    "processes": [
        f"{node}:{pid}:{pid + 9} [{gpu}] NCCL INFO ncclCommInitRank comm 0x5{gpu} rank"
        f" {4 * (node == 'n2') + gpu} nranks 8 cudaDev {gpu} nvmlDev {gpu} busId {gpu + 1}b000"
        " commId 0x8fe2 - Init COMPLETE"
        for node in ("n1", "n2")
        for gpu in range(4)
        for pid in (9100 + gpu,)
    ],
    "launcher": [
        "E1120 09:05:10.123000 4000 torch/distributed/elastic/multiprocessing/api.py:874] failed"
        " (exitcode: 1) local_rank: 1 (pid: 4109) of binary: /usr/bin/python3",
    ],
}  # fmt: skip
JOINED = [line.replace("91", "41").replace("0x8fe2", "0x8fe1") for line in RESTARTS["processes"]]
FAILED = [
    "[rank5]: Traceback (most recent call last):",
    '[rank5]:   File "/opt/train/train.py", line 210, in <module>',
    "[rank5]: KeyError: 'labels'",
]
LOST = (
    "2026-11-20T09:{}+00:00 n2 kernel: NVRM: Xid (PCI:0000:2b:00): 79, pid='<unknown>',"
    " name=<unknown>, GPU has fallen off the bus."
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", RESTARTS)
def test_an_earlier_attempt_in_the_same_log(how: str, form: str, tmp_path: Path) -> None:
    make = FORMS[form]
    before = [*JOINED, *steps(make, 400, 30, 0), *FAILED, *RESTARTS[how]]
    # From its last checkpoint on, as yet with two steps alone.
    again = steps(make, 380, 2, 600)
    told = answer(tmp_path, [*before, *again], exit_code=0)
    assert str(told.verdict.kind) == "healthy", told.verdict.summary
    told = answer(
        tmp_path,
        [*before, *again, *watchdogs(1215)],
        {"n2": [LOST.format("10:12.000000")]},
        exit_code=1,
    )
    assert str(told.verdict.category) == "gpu", told.verdict.summary
    assert told.suspects[0].node == "n2"


def test_the_same_error_again_at_the_end(tmp_path: Path) -> None:
    lines = [
        *steps(megatron, 400, 30, 0),
        *FAILED,
        *RESTARTS["torchrun"],
        *steps(megatron, 380, 30, 600),
        *FAILED,
        RESTARTS["torchrun"][0].replace("09:05:10", "09:15:10"),
    ]
    told = answer(tmp_path, lines, exit_code=1)
    assert str(told.verdict.category) == "software_user", told.verdict.summary
    assert told.suspects[0].ranks == (5,)


def test_an_attempt_that_never_began(tmp_path: Path) -> None:
    """Nothing is known of it: what ended the one before is still what ended the job."""
    lines = [*steps(megatron, 400, 30, 0), *FAILED, *RESTARTS["torchrun"]]
    told = answer(tmp_path, lines, exit_code=1)
    assert str(told.verdict.category) == "software_user"
    assert told.suspects[0].ranks == (5,)


def test_a_report_on_a_gpu_is_not_outlived(tmp_path: Path) -> None:
    """A hot GPU is hot, however many steps the job makes behind the report of it."""
    report = [
        f"[slowcheck n2] {line}"
        for line in (
            "==============NVSMI LOG==============",
            "GPU 00000000:D2:00.0",
            "    Clocks Throttle Reasons",
            "        HW Slowdown                       : Active",
            "            HW Thermal Slowdown           : Active",
        )
    ]
    lines = [*steps(megatron, 400, 20, 0), *report, *steps(megatron, 420, 20, 200)]
    told = answer(tmp_path, [*lines, *watchdogs(1200)], exit_code=1)
    assert str(told.verdict.category) == "gpu_thermal", told.verdict.summary


MOUNT = (
    'Warning FailedMount pod/dcgm-exporter-q9k2v MountVolume.SetUp failed for volume "pvc-7":'
    " rpc error: code = DeadlineExceeded"
)


@pytest.mark.parametrize("runs", [True, False])
def test_what_does_not_start_stops_nothing_that_runs(runs: bool, tmp_path: Path) -> None:
    lines = steps(megatron, 400, 10, 0) if runs else []
    at = clock(110)
    (tmp_path / "events.log").write_text(f"{at} {MOUNT}\n", encoding="utf-8")
    told = answer(tmp_path, [*lines, *watchdogs(700)], exit_code=1)
    assert (str(told.verdict.category) == "storage") is not runs, told.verdict.summary
