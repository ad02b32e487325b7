"""What a log's name and first lines tell: its node, and when a report was made."""

from collections import Counter

import pytest

from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.layout import detect_layout, find_node_of_file, parse_host_in_name
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.stamps import read_time


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("kmsg-tail-gpu17.txt", "gpu17"),
        ("kernel-tail-n3.log", "n3"),
        ("nodes/dmesg-n3.log", "n3"),
        ("log-gpu17", "gpu17"),
        ("gpu-node-17.log", "gpu-node-17"),
        ("tail-7.log", None),
        ("kernel.log", None),
    ],
)
def test_words_that_say_what_a_file_is_are_no_part_of_a_host(name: str, host: str | None) -> None:
    assert parse_host_in_name(name) == host


def test_a_report_says_at_its_head_when_it_was_made() -> None:
    head = "==============NVSMI LOG==============\n\nTimestamp      : Sun Nov 22 03:04:05 2026\n"

    assert detect_layout(head.encode()).first_stamp == read_time("Sun Nov 22 03:04:05 2026")


@pytest.mark.parametrize(
    ("unit", "program"),
    [("sshd.service", "sshd"), ("sshd", "sshd"), ("train.service", None), ("gpu-0", None)],
)
def test_a_log_store_names_the_unit_that_wrote_a_line(unit: str, program: str | None) -> None:
    line = (
        f'{{"ts": "2026-11-22T03:04:05Z", "host": "n3", "unit": "{unit}",'
        ' "msg": "error: kex_exchange_identification: Connection closed by remote host"}'
    )

    assert read_envelope(line).program == program


@pytest.mark.parametrize(
    ("hosts", "hostless", "node"),
    [
        ({"n3": 9}, 0, "n3"),
        ({"n3": 9}, 3, "n3"),
        ({"n3": 9}, 4, None),
        ({"n3": 50, "n4": 9}, 10, "n3"),
        ({"n3": 20, "n4": 9}, 0, None),
    ],
)
def test_a_host_in_some_lines_does_not_speak_for_those_without_one(
    hosts: dict[str, int], hostless: int, node: str | None
) -> None:
    assert find_node_of_file("central.log", LogKind.KERNEL, Counter(hosts), hostless) == node


def test_a_folder_tells_the_node_whatever_the_lines_name() -> None:
    assert find_node_of_file("nodes/n7/all.log", LogKind.KERNEL, Counter({"n3": 1}), 90) == "n7"


@pytest.mark.parametrize(
    ("head", "zone_s"),
    [
        ("# zabbix export, times UTC-5\n2026.06.19 23:23:34  PROBLEM x\n", -18000),
        ("Shift book (local time, UTC+2)\n\n23.02.2026 07:24 x\n", 7200),
        ("All times in CET.\n2026-03-05 14:20:11 x\n", 3600),
        ("Logbuch (Zeiten MESZ)\n05.03.2026 08:10 x\n", 7200),
        # a time that says its zone speaks for itself, and one below the first is a line's
        ("2026-03-05 14:20:11 UTC+2 x\n", None),
        ("2026-03-05 14:20:11 x\nnext check at UTC+2\n", None),
        ("Start time: 5th of March, 14:20 CET\n2026-03-05 14:20:11 x\n", None),
        ("It begins at 14:20 UTC+2\n2026-03-05 14:20:11 x\n", None),
        ("started by PST team\n2026-03-05 14:20:11 x\n", None),
    ],
)
def test_the_head_of_a_file_says_the_zone_of_its_times(head: str, zone_s: int | None) -> None:
    assert detect_layout(head.encode()).zone_s == zone_s
