"""What a process says that a signal took, as Open MPI and UCX print it: whose host, and what."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.analysis.facts.job_logs import answer, clock, culprits, megatron, steps, watchdogs

STEPS = steps(megatron, 400, 20, 0)


def open_mpi(signal: str, code: str, host: str = "n2") -> list[str]:
    said = (
        "*** Process received signal ***", f"Signal: {signal}", f"Signal code: {code}",
        "Failing at address: 0x7f2b5c000000",
        "[ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x42520)[0x7f2bd3a42520]",
        "[ 1] /opt/nccl/lib/libnccl.so.2(+0x5e7a0)[0x7f2b9c45e7a0]",
        "*** End of error message ***",
    )  # fmt: skip
    return [f"[{host}:12345] {text}" for text in said]


BUS = ("Bus error (7)", "Non-existant physical address (2)")
SEGV = ("Segmentation fault (11)", "Address not mapped (1)")


@pytest.mark.parametrize(
    ("lines", "category"),
    [
        pytest.param(open_mpi(*BUS), "host_oom", id="bus error"),
        pytest.param(open_mpi(*BUS, host="n2.cluster.local"), "host_oom", id="full name"),
        pytest.param(open_mpi(*SEGV), "software_framework", id="segmentation fault"),
        pytest.param(
            [f"[1,5]<stderr>:{line}" for line in open_mpi(*BUS)], "host_oom", id="of mpirun"
        ),
        pytest.param(
            [f"[{clock(200)}] {line}" for line in open_mpi(*SEGV)],
            "software_framework",
            id="with times",
        ),
        pytest.param(open_mpi(*BUS)[1:2], "host_oom", id="one line of it"),
        pytest.param(
            ["[n2:12345:0:12400] Caught signal 7 (Bus error: nonexistent physical address)"],
            "host_oom",
            id="UCX",
        ),
    ],
)
def test_a_signal_is_of_the_host_that_its_line_names(
    lines: Sequence[str], category: str, tmp_path: Path
) -> None:
    told = answer(tmp_path, [*STEPS, *lines])
    assert (str(told.verdict.category), culprits(told)) == (category, ["n2"])
    assert told.verdict.cordon == ()


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([*watchdogs(801), *open_mpi("Aborted (6)", " (-6)")], id="given up"),
        pytest.param(open_mpi("Terminated (15)", "User function (kill) (0)"), id="taken down"),
        pytest.param(["[n2:12345] Signal handlers installed"], id="no signal"),
    ],
)
def test_a_signal_that_accuses_nobody(lines: Sequence[str], tmp_path: Path) -> None:
    assert culprits(answer(tmp_path, [*STEPS, *lines])) == []
