"""Logs of machines without anything of a job: what ails them is said, and convicts by itself only
where a line needs no other source.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.support.job_folders import DAY, at, facts, said, steps

HEARTBEAT = (
    "NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 8129 heartbeat 1899"
    " heartbeatWithOffsetMs 8128 diff 6070 timeout 5200"
)
BOOTING = [
    "[   15.210934] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.71.05",
    f"[   24.871100] {HEARTBEAT}",
]
CAUSED = [
    f"kernel: NVRM: Xid (PCI:0000:{gpu}:00): 45, pid=17{gpu}, name=python3, Ch 0000000{k} caused by"
    " previous Xid 149"
    for k, gpu in enumerate(("dc", "ed", "ba"))
]
HOT = (
    "ERROR [14771:14772] [[Health]] Detected a WARNING in health system Thermal: 'Detected clocks"
    " event due to thermal violation in GPU 2. Verify that the cooling on this machine is working.'"
)
SWITCH = "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a}"
QUIET = [
    f"[{1000 + k}.000000] {line}"
    for k, line in enumerate(
        (
            "eth0: link is up",
            "audit: type=1400 audit(1790000000.100:9): apparmor",
            "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode",
        )
    )
]


def summary(wire: Any) -> tuple[str, list[tuple[str | None, str]]]:
    verdict = wire["verdict"]
    return verdict["category"], [(one["node"], one["role"]) for one in wire["suspects"]]


@pytest.mark.parametrize(
    ("file", "lines", "category", "suspects"),
    [
        ("dmesg.txt", BOOTING, "gpu_gsp", []),
        ("dmesg.txt", CAUSED, "nvlink", []),
        ("nodes/cn02/dmesg.txt", CAUSED, "nvlink", [("cn02", "possible")]),
        ("nodes/cn02/nv-hostengine.log", [HOT], "gpu_thermal", [("cn02", "possible")]),
        ("nodes/cn02/dmesg.txt", [SWITCH], "gpu", [("cn02", "possible")]),
    ],
)
def test_what_ails_a_machine_is_said(
    tmp_path: Path,
    file: str,
    lines: list[str],
    category: str,
    suspects: list[tuple[str | None, str]],
) -> None:
    wire = said(tmp_path, {file: lines}, None)

    assert summary(wire) == (category, suspects)
    assert wire["verdict"]["cordon"] == []
    # A line that needs another source stops no job that nobody saw.
    assert (wire["verdict"]["kind"] == "inconclusive") == (lines is not BOOTING)


def test_nothing_is_said_of_one_that_is_well(tmp_path: Path) -> None:
    assert summary(said(tmp_path, {"nodes/cn02/dmesg.txt": QUIET}, None)) == ("none", [])


@pytest.mark.parametrize(
    ("file", "lines"),
    [("nodes/cn02/dmesg.txt", BOOTING), ("nodes/cn02/nv-hostengine.log", [HOT])],
)
def test_beside_a_job_that_is_well_none_of_it_is_a_cause(
    tmp_path: Path, file: str, lines: list[str]
) -> None:
    log = [*steps(), f"{DAY} {at(5)} training done, exiting with code 0"]
    wire = said(tmp_path, {"job.log": log, file: lines}, facts(exit_code=0))

    assert summary(wire) == ("none", [])
