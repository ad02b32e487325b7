"""nvidia-bug-report.log: each part by its reader, one node, one clock, each message once."""

import gzip
import time

import pytest

from tests.formats.health import samples
from tests.formats.health.reading import format_of, logs_of, rows_of
from tests.support import checkers
from tests.support.spent import spent_s
from triage.parsers.logs.logset import LogKind

LINE = "_" * 44
XID = "NVRM: Xid (PCI:0000:6d:00): 79, pid=4711, name=python, GPU has fallen off the bus."
HEAD = f"""{LINE}

Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem, when reporting a graphics

nvidia-bug-report.sh Version: 36100772

Date: Sat Mar 14 03:20:11 UTC 2026
uname: Linux n7 6.8.0-60-generic #63-Ubuntu SMP PREEMPT_DYNAMIC x86_64 GNU/Linux
command line flags: --safe-mode
"""
JOURNAL = f"""Scanning kernel log files for NVIDIA kernel messages:

  journalctl -b -0:
Mar 14 02:40:57 n7 kernel: {XID}
"""
DMESG = f"dmesg:\n\n[182203.114902] {XID}\n"
LOST = (
    "/usr/bin/nvidia-smi --query\n\n"
    "Unable to determine the device handle for GPU5: 0000:6D:00.0: Unknown Error\n"
)


def report(*parts, head=HEAD):
    return f"\n{LINE}\n\n".join([head, *parts]) + f"\n{LINE}\n"


def test_it_is_a_kernel_log_of_the_node_that_it_names(tmp_path):
    (tmp_path / "nvidia-bug-report.log").write_text(report(JOURNAL, DMESG))
    logs = logs_of(tmp_path)

    assert [(file.kind, file.node) for file in logs.files] == [(LogKind.KERNEL, "n7")]
    assert {row.node for row in logs.evidence} == {"n7"}


def test_a_message_that_comes_twice_counts_once_with_its_date(tmp_path):
    (row,) = [row for row in rows_of(tmp_path, n7__r=report(JOURNAL, DMESG)) if row.code == 79]

    assert row.stamp.has_year
    assert (row.stamp.wall_ns, row.stamp.zone_s) == (1_773_456_057 * 10**9, 0)  # 2026-03-14 UTC
    assert report(JOURNAL, DMESG).split("\n")[(row.line or 0) - 1].endswith(XID)


def test_a_message_of_dmesg_alone_is_kept(tmp_path):
    (row,) = [row for row in rows_of(tmp_path, n7__r=report(DMESG)) if row.code == 79]

    assert (row.stamp.wall_ns, row.stamp.uptime_ns) == (None, 182_203_114_902_000)


def test_two_errors_of_one_gpu_at_two_times_are_two(tmp_path):
    twice = JOURNAL + f"Mar 14 02:50:57 n7 kernel: {XID}\n"
    rows = [row for row in rows_of(tmp_path, n7__r=report(twice)) if row.code == 79]

    assert sum(row.count for row in rows) == 2


@pytest.mark.parametrize(
    ("date", "printed", "year", "zone"),
    [
        ("Thu Jan  1 00:20:11 UTC 2026", "Dec 31 23:50:00", 2025, 0),
        ("Sat Mar 14 03:20:11 UTC 2026", "Mar 14 02:40:57", 2026, 0),
        ("Sat Mar 14 03:20:11 AM UTC 2026", "Mar 14 02:40:57", 2026, 0),
        ("Sat Mar 14 03:20:11 CET 2026", "Mar 14 02:40:57", 2026, None),
    ],
)
def test_messages_are_of_the_reports_year_and_not_younger(tmp_path, date, printed, year, zone):
    head = HEAD.replace("Sat Mar 14 03:20:11 UTC 2026", date)
    journal = JOURNAL.replace("Mar 14 02:40:57", printed)
    (row,) = [row for row in rows_of(tmp_path, n7__r=report(journal, head=head)) if row.code == 79]

    assert row.stamp.wall_ns is not None
    assert time.gmtime(row.stamp.wall_ns // 10**9).tm_year == year
    assert row.stamp.zone_s == zone


def test_an_older_boot_keeps_its_own_times(tmp_path):
    old = JOURNAL.replace("-b -0:", "-b -1:").replace("Mar 14 02", "Mar  2 02")
    rows = rows_of(tmp_path, n7__r=report(JOURNAL + "\n" + old.partition("\n\n")[2]))
    days = {
        time.gmtime((row.stamp.wall_ns or 0) // 10**9).tm_mday for row in rows if row.code == 79
    }

    assert days == {14, 2}


def test_what_nvidia_smi_shows_is_a_result_of_its_gpu(tmp_path):
    smi = "/usr/bin/nvidia-smi --query\n" + samples.smi({"bus": "6D", "dram": 2})
    found = {
        (row.signature, row.gpu, str(row.role))
        for row in rows_of(tmp_path, n7__r=report(smi, JOURNAL))
    }

    assert ("check.gpu.ecc", "0000:6d:00", "root") in found
    assert not [name for name, *_ in found if name.startswith("gpu_tool.")]


def test_what_was_seen_when_the_report_was_made_needs_another_source(tmp_path):
    (row,) = [
        r for r in rows_of(tmp_path, n7__r=report(LOST)) if r.signature == "gpu_tool.gpu_lost"
    ]

    assert (row.gpu, row.node, row.weak) == ("0000:6d:00", "n7", True)


def test_each_tools_part_is_a_check_at_its_own_line(tmp_path):
    def output(name):
        return next(one for one in checkers.samples() if one.name == name).data.decode().lstrip()

    text = report(
        JOURNAL,
        f"/usr/bin/lspci -vvvxxx\n\n{output('fail-gpu-off-the-bus.txt')}",
        f"/usr/bin/nvidia-smi --query\n\n{output('fail-q-ecc.txt')}",
        f"/usr/bin/nvidia-smi nvlink --status\n\n{output('fail-nvlink-s.txt')}",
        f"/usr/sbin/dmidecode\n\n{output('fail-supply.txt')}",
        DMESG,
    )
    (tmp_path / "nvidia-bug-report.log.gz").write_bytes(gzip.compress(text.encode()))
    lines = text.split("\n")
    begins = {
        "check.pcie.device": "6d:00.0 3D controller", "check.gpu.ecc": "GPU 00000000:",
        "check.gpu.nvlink": "GPU ", "check.bmc.supply": "Handle 0x", "nvidia.xid": "Mar 14 02:40",
    }  # fmt: skip
    failing = [
        row for row in logs_of(tmp_path).evidence if row.signature in begins and row.role == "root"
    ]

    assert {row.signature for row in failing} == set(begins)
    assert {row.node for row in failing} == {"n7"}
    for row in failing:
        assert lines[(row.line or 0) - 1].startswith(begins[row.signature])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_report_that_is_cut_gives_what_it_has(tmp_path, share):
    text = report(JOURNAL, DMESG, LOST)
    logs = logs_of(tmp_path, n7__r=text[: int(len(text) * share)])

    assert [file.kind for file in logs.files] == [LogKind.KERNEL]


def test_a_packed_one_says_the_same(tmp_path):
    (tmp_path / "nvidia-bug-report.log.gz").write_bytes(gzip.compress(report(JOURNAL).encode()))

    assert 79 in {row.code for row in logs_of(tmp_path).evidence}


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}" + f"{LINE}\n" * 100_000,
        report(*(["dmesg:\n"] * 5_000)),
        HEAD + "x" * 4_000_000,
        HEAD + "\n" * 1_000_000,
        HEAD.replace("2026", "9999").replace("Mar 14", "Feb 29") + JOURNAL,
    ],
    ids=["lines", "parts", "one line", "empty", "a date that is none"],
)
def test_hostile_reports_end_soon(tmp_path, text):
    assert spent_s(lambda: logs_of(tmp_path, n7__r=text), 20.0) < 20


def test_a_log_that_quotes_one_is_none():
    assert format_of("rank 0: see the Start of NVIDIA bug report log file\n") == "log"
