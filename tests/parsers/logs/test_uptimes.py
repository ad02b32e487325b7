"""Uptimes are dated by the boot that they belong to, however many boots a log or a node has."""

from dataclasses import replace

import pytest

from tests.parsers.logs.test_clocks import STOP, printed, row, times
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.parsers.logs.clocks import Anchors
from triage.parsers.logs.stamps import SECOND_NS

HOUR = 3600 * SECOND_NS
DAY = 24 * HOUR
WEEK = 7 * DAY
KNOWN = Anchors(failed_at_ns=STOP)
ISO = "%Y-%m-%dT%H:%M:%S.%f+00:00"


def up(artifact: str, line: int, uptime_ns: int, node: str = "n0") -> Evidence:
    """A line that counts from boot alone."""
    return row(artifact, line, f"[{uptime_ns / 1e9:13.6f}] x", node)


def both(artifact: str, line: int, ns: int, uptime_ns: int, node: str = "n0") -> Evidence:
    """A line with both clocks."""
    return row(
        artifact, line, f"{printed(ns, ISO)} {node} kernel: [{uptime_ns / 1e9:13.6f}] x", node
    )


def banner(artifact: str, line: int, ns: int, node: str = "n0") -> Evidence:
    """The first line of a boot in a dated log."""
    first = row(
        artifact, line, f"{printed(ns, ISO)} {node} kernel: Linux version 6.5.0 (x) #1", node
    )
    return replace(
        first, kind=Kind.BOOT, signature="boot.kernel_version", role=EvidenceRole.CONSEQUENCE
    )


def near(ns: int | None, wanted: int) -> bool:
    return ns is not None and abs(ns - wanted) <= 2 * SECOND_NS


def test_started_again_a_week_after_its_fault() -> None:
    """The one boot that is dated is behind the stop: the uptime of ten days is not of it."""
    rows = [up("dmesg", 1, 10 * DAY), banner("syslog", 1, STOP + WEEK)]
    assert times(rows, KNOWN)[0] is None
    rows = [*rows, banner("syslog", 2, STOP - 10 * DAY)]
    assert near(times(rows, KNOWN)[0], STOP)


@pytest.mark.parametrize("later", [600 * SECOND_NS, HOUR, WEEK])
def test_several_boots_of_a_node(later: int) -> None:
    boots = [STOP - 90 * DAY, STOP - 3 * DAY, STOP + later]
    rows = [up("dmesg", 1, 3 * DAY), *(banner("syslog", k, ns) for k, ns in enumerate(boots, 1))]
    assert near(times(rows, KNOWN)[0], STOP)


@pytest.mark.parametrize("anchored", [(0,), (1,), (0, 1), ()])
def test_two_boots_in_one_log(anchored: tuple[int, ...]) -> None:
    """Each order of lines with both clocks."""
    first, second = STOP - 3 * DAY, STOP + WEEK
    rows = [up("kern", 1, 3 * DAY - HOUR), up("kern", 2, 3 * DAY)]
    rows += [up("kern", 5, 2 * SECOND_NS), up("kern", 6, HOUR)]
    if 0 in anchored:
        rows.append(both("kern", 3, first + 3 * DAY, 3 * DAY))
    if 1 in anchored:
        rows.append(both("kern", 7, second + HOUR, HOUR))
    told = times(rows, KNOWN)[:4]
    if 0 in anchored:
        assert near(told[1], STOP)
    else:
        assert told[1] is None
    if 1 in anchored:
        assert near(told[2], second + 2 * SECOND_NS)
    else:
        assert told[2] is None


def test_the_boot_between_two_in_one_log_is_told_elsewhere() -> None:
    boots = [STOP - 30 * DAY, STOP - DAY, STOP + 2 * DAY]
    rows = [
        both("kern", 1, boots[0] + HOUR, HOUR),
        up("kern", 2, 28 * DAY),
        up("kern", 3, 5 * SECOND_NS),
        up("kern", 4, DAY),
        both("kern", 5, boots[2] + 5 * SECOND_NS, 5 * SECOND_NS),
        up("kern", 6, HOUR),
        *(banner("syslog", k, ns) for k, ns in enumerate(boots, 1)),
    ]
    told = times(rows, KNOWN)
    assert near(told[1], boots[0] + 28 * DAY)
    assert near(told[3], STOP)
    assert near(told[5], boots[2] + HOUR)


def test_lines_of_several_nodes_in_one_log() -> None:
    rows = [
        both("all", 1, STOP - HOUR, DAY, "n0"),
        both("all", 2, STOP - HOUR, 60 * DAY, "n1"),
        up("all", 3, DAY + HOUR, "n0"),
        up("all", 4, 60 * DAY + HOUR, "n1"),
    ]
    told = times(rows, KNOWN)
    assert near(told[2], STOP)
    assert near(told[3], STOP)


def test_lines_a_little_out_of_order_are_of_one_boot() -> None:
    rows = [both("kern", 1, STOP, 500 * SECOND_NS), up("kern", 2, 470 * SECOND_NS)]
    assert near(times(rows, KNOWN)[1], STOP - 30 * SECOND_NS)


def test_a_log_taken_from_the_boot_behind_the_stop() -> None:
    rows = [up("dmesg", 1, 3 * SECOND_NS), up("dmesg", 2, HOUR), banner("syslog", 1, STOP + HOUR)]
    assert near(times(rows, KNOWN)[1], STOP + 2 * HOUR)


def test_a_repeated_row_ends_no_boot() -> None:
    """Its last line stands further down the log, behind lines of a lower uptime."""
    repeated = replace(up("dmesg", 1, 2 * DAY), last_stamp=up("dmesg", 9, 3 * DAY).stamp)
    rows = [both("dmesg", 0, STOP - 3 * DAY, 0), repeated, up("dmesg", 2, 2 * DAY + HOUR)]
    assert near(times(rows, KNOWN)[2], STOP - DAY + HOUR)
