"""A kernel's log that nothing but its words marks as one, and logs that only look a little so."""

import io
import json

import pytest

from triage.formats.streams import StreamReader
from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.layout import detect_layout
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader
from triage.parsers.logs.source import LogStream

KERNEL = [
    "Linux version 5.15.0-1064-azure (buildd@lcy02-amd64-011) (gcc 11.4.0)",
    "BIOS-provided physical RAM map:",
    "nvidia 0002:00:00.0: enabling device (0140 -> 0142)",
    "what no list of words knows",
    "mlx5_core 0101:00:00.0: Port module event: module 1, Cable plugged",
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth8c2dbb0: link becomes ready",
    "NVRM: Xid (PCI:0000:4c:00): 79, pid=1, GPU has fallen off the bus.",
]
XID = KERNEL[-1]
JOB = [
    "[rank0]: starting",
    "Memory: 40 GB",
    "epoch 1 loss: 2.31",
    "n1:12:99 [0] NCCL INFO Channel 00/0",
    "loading the data set",
    XID,
]


def cri(line: str) -> str:
    return f"2026-01-02T03:04:05.123456789Z stdout F {line}"


def docker(line: str) -> str:
    return json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-01-02T03:04:05.1Z"})


@pytest.mark.parametrize("wrap", [str, cri, docker], ids=["dmesg -t", "cri", "docker"])
def test_a_kernels_words_are_a_kernel_log(wrap: type[str]) -> None:
    data = "".join(wrap(line) + "\n" for line in KERNEL).encode()

    outcome = StreamReader(LineReader(get_standard(), DEFAULT_BOUNDS, False)).read(
        LogStream("incident.tar/nodes/n1/kernel-monitor_0.log", data, io.BytesIO(b"").read)
    )

    assert outcome.file.kind is LogKind.KERNEL
    (row,) = [row for row in outcome.rows if row.signature == "nvidia.xid"]
    assert (row.node, row.line, row.weak) == ("n1", 7, False)


@pytest.mark.parametrize(
    "lines",
    [
        JOB,
        [XID],
        ["first", "second", "third", "fourth", "fifth", XID, XID],
        [*JOB[:4], *KERNEL],
        [f"Jan  2 03:04:05 n1 sshd[1]: {line}" for line in KERNEL],
    ],
    ids=["job", "one line", "a few", "a job that prints them", "quoted by a service"],
)
def test_others_are_not(lines: list[str]) -> None:
    found = detect_layout("".join(line + "\n" for line in lines).encode())

    assert not found.own_words
