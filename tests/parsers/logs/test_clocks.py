# ruff: noqa: E501 - real lines are as long as they are
"""Printed times become moments: years, zones and boots, and what must not move them."""

import datetime
import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from triage.domain.evidence import Evidence, EvidenceRole, Kind, Stamp
from triage.parsers.logs.clocks import Anchors, place
from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.logset import LogFile, LogKind, LogSet, TemplateCount
from triage.parsers.logs.stamps import MINUTE_NS, SECOND_NS

HOUR = 60 * MINUTE_NS
DAY = 24 * HOUR


def utc(text: str) -> int:
    whole = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return round(whole.timestamp() * 1e6) * 1000


STOP = utc("2026-03-14T12:00:00")


def row(artifact: str, line: int, text: str, node: str = "n0", **more: object) -> Evidence:
    stamp = read_envelope(text).stamp
    base = Evidence(
        artifact, line, "x.y", Kind.XID, EvidenceRole.ROOT, text, node=node, stamp=stamp, last_stamp=stamp
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def logs(rows: list[Evidence], kind: LogKind = LogKind.KERNEL) -> LogSet:
    names = sorted({one.artifact for one in rows})
    return LogSet(files=[LogFile(name, kind, lines=100) for name in names], evidence=rows)


def times(
    rows: list[Evidence], anchors: Anchors, kind: LogKind = LogKind.KERNEL
) -> list[int | None]:
    return [one.at_ns for one in place(logs(rows, kind), anchors).evidence]


def printed(ns: int, form: str) -> str:
    return datetime.datetime.fromtimestamp(ns / 1e9, datetime.UTC).strftime(form)


def syslog(ns: int) -> str:
    return printed(ns, "%b %d %H:%M:%S n0 kernel: text")


def test_the_year_is_that_of_the_stop() -> None:
    got = times([row("a", 1, syslog(STOP - HOUR))], Anchors(failed_at_ns=STOP))
    assert got == [STOP - HOUR]


def test_december_lies_before_january() -> None:
    stop = utc("2027-01-01T00:05:00")
    rows = [row("a", 1, syslog(stop - 10 * MINUTE_NS)), row("a", 2, syslog(stop - MINUTE_NS))]
    assert times(rows, Anchors(failed_at_ns=stop)) == [stop - 10 * MINUTE_NS, stop - MINUTE_NS]


def test_a_line_of_eight_months_ago_is_not_of_the_future() -> None:
    assert times([row("a", 1, syslog(STOP - 250 * DAY))], Anchors(failed_at_ns=STOP)) == [
        STOP - 250 * DAY
    ]


def test_29_february_is_of_the_last_leap_year() -> None:
    got = times([row("a", 1, "Feb 29 01:02:03 n0 kernel: x")], Anchors(failed_at_ns=STOP))
    assert got == [utc("2024-02-29T01:02:03")]


def test_without_anchors_the_newest_full_time_gives_the_year() -> None:
    rows = [row("a", 1, syslog(STOP)), row("b", 1, printed(STOP, "%Y-%m-%dT%H:%M:%SZ text"))]
    assert times(rows, Anchors()) == [STOP, STOP]


def test_a_line_from_the_future_moves_nothing() -> None:
    full = [row("b", k, printed(STOP + k * SECOND_NS, "%Y-%m-%dT%H:%M:%SZ x")) for k in range(40)]
    rows = [row("a", 1, syslog(STOP)), *full, row("c", 1, "2099-01-01T00:00:00Z x")]
    got = times(rows, Anchors())
    assert got[0] == STOP
    assert got[-1] == utc("2099-01-01T00:00:00")


def test_no_year_anywhere_is_said_and_keeps_the_order() -> None:
    placed = place(
        logs([row("a", 1, syslog(STOP)), row("a", 2, syslog(STOP + 1 * HOUR))]), Anchors()
    )
    first, second = placed.evidence
    assert first.at_ns is not None
    assert second.at_ns is not None
    assert second.at_ns - first.at_ns == HOUR
    assert first.error_ns > 300 * DAY
    assert any("year" in note for note in placed.notes)


def test_a_printed_zone_is_taken_off() -> None:
    text = "2026-03-14T14:00:00,000000+02:00 text"
    assert times([row("a", 1, text)], Anchors(failed_at_ns=STOP)) == [STOP]


def watchdog(node: str, ns: int, zone: int = 0) -> Evidence:
    text = printed(ns + zone + 10 * MINUTE_NS, "[E%m%d %H:%M:%S.000000001 a.cpp:1] text")
    return row(f"{node}.log", 9, text, node, kind=Kind.NCCL, role=EvidenceRole.CONSEQUENCE,
               fields={"ran_ms": "600000"})  # fmt: skip


def test_watchdogs_tell_the_zone_of_job_logs() -> None:
    anchors = Anchors(failed_at_ns=STOP + 11 * MINUTE_NS, dump_last_ns=STOP)
    for zone in (-8 * HOUR, 5 * HOUR + 30 * MINUTE_NS, 9 * HOUR, 0):
        rows = [watchdog(f"n{k}", STOP, zone) for k in range(4)]
        placed = place(logs(rows, LogKind.JOB), anchors)
        got = [one.at_ns for one in placed.evidence]
        assert all(ns is not None and abs(ns - STOP - 10 * MINUTE_NS) < SECOND_NS for ns in got)
        assert any("zone" in note for note in placed.notes) == (zone != 0)


def test_one_node_with_a_wrong_clock_is_no_zone() -> None:
    rows = [watchdog(f"n{k}", STOP, HOUR if k == 2 else 0) for k in range(4)]
    anchors = Anchors(failed_at_ns=STOP + 11 * MINUTE_NS, dump_last_ns=STOP)
    got = times(rows, anchors, LogKind.JOB)
    assert [ns is not None and round((ns - STOP) / MINUTE_NS) for ns in got] == [10, 10, 70, 10]


def test_one_dump_with_a_wrong_clock_makes_no_zone() -> None:
    rows = [watchdog(f"n{k}", STOP) for k in range(4)]
    late = STOP + HOUR
    by_node = {"n0": STOP, "n1": STOP, "n2": late, "n3": STOP}
    for anchors in (Anchors(STOP + 11 * MINUTE_NS, late), Anchors(None, late, None, by_node)):
        got = times(rows, anchors, LogKind.JOB)
        assert all(ns is not None and abs(ns - STOP - 10 * MINUTE_NS) < SECOND_NS for ns in got)


def test_a_stale_error_of_one_kernel_log_is_no_zone() -> None:
    rows = [row("a", 1, syslog(STOP - 5 * HOUR))]
    placed = place(logs(rows), Anchors(failed_at_ns=STOP, dump_last_ns=STOP - 10 * MINUTE_NS))
    assert placed.evidence[0].at_ns == STOP - 5 * HOUR


def test_a_log_that_fell_silent_before_the_end_is_no_zone() -> None:
    for hang in (30 * MINUTE_NS, HOUR, 2 * HOUR):
        line = row("n0.log", 1, printed(STOP - hang, "[%Y-%m-%d %H:%M:%S] x"))
        assert times([line], Anchors(failed_at_ns=STOP), LogKind.JOB) == [STOP - hang]


def test_kernel_logs_follow_the_zone_of_the_job_logs_where_they_fit() -> None:
    zone = -7 * HOUR
    job = [watchdog(f"n{k}", STOP, zone) for k in range(3)]
    kernel = row("k.log", 1, syslog(STOP + zone - MINUTE_NS))
    given = logs([*job, kernel])
    for file in given.files:
        file.kind = LogKind.KERNEL if file.artifact == "k.log" else LogKind.JOB
    anchors = Anchors(failed_at_ns=STOP + 11 * MINUTE_NS, dump_last_ns=STOP)
    assert place(given, anchors).evidence[-1].at_ns == STOP - MINUTE_NS


def test_lines_with_both_clocks_date_the_rest_of_the_file() -> None:
    both = "Mar 14 12:00:00 n0 kernel: [ 1000.000000] x"
    rows = [row("a", 1, both), row("a", 2, "[ 1060.000000] y"), row("b", 1, "[  940.000000] z")]
    want = [STOP, STOP + 60 * SECOND_NS, STOP - 60 * SECOND_NS]
    assert times(rows, Anchors(failed_at_ns=STOP)) == want


def test_a_reboot_inside_a_file_is_two_boots() -> None:
    lines = [
        "Mar 14 11:00:00 n0 kernel: [90000.000000] x", "[90001.000000] x",
        "[    5.000000] y", "Mar 14 12:00:00 n0 kernel: [   10.000000] y",
    ]  # fmt: skip
    rows = [row("a", 10 * k, text) for k, text in enumerate(lines)]
    got = times(rows, Anchors(failed_at_ns=STOP))
    assert got[2] == STOP - 5 * SECOND_NS
    assert got[1] == STOP - HOUR + SECOND_NS


def test_the_same_message_in_a_dated_log_of_the_node_gives_the_boot() -> None:
    rows = [
        replace(row("dmesg", 1, "[  500.000000] m"), text="m"),
        replace(row("syslog", 1, syslog(STOP)), text="m"),
        replace(row("dmesg", 2, "[  400.000000] other"), text="other"),
    ]
    assert times(rows, Anchors(failed_at_ns=STOP)) == [STOP, STOP, STOP - 100 * SECOND_NS]


def ends(artifact: str, node: str, *processes: tuple[int, float]) -> list[Evidence]:
    """The driver's lines behind the ends of processes: (pid, seconds since boot)."""
    return [
        row(artifact, k, f"[{at_s:13.6f}] channel of {pid}", node, pid=pid, role=EvidenceRole.CONSEQUENCE)
        for k, (pid, at_s) in enumerate(processes)
    ]  # fmt: skip


def reaped(*pids: int, node: str = "n0") -> list[Evidence]:
    """What a launcher writes at the stop of the processes that it has lost."""
    return [
        row("job.log", k, syslog(STOP), node, pid=pid, role=EvidenceRole.CONSEQUENCE)
        for k, pid in enumerate(pids)
    ]


def test_processes_that_a_dated_log_saw_end_date_the_boot() -> None:
    rows = [*ends("dmesg", "n0", (11, 500.0), (12, 501.0)), *reaped(11, 12)]
    assert times([row("dmesg", 9, "[  400.000000] x"), *rows], Anchors(failed_at_ns=STOP))[0] == (
        STOP - 101 * SECOND_NS
    )


def test_a_single_process_and_one_that_lived_on_date_nothing() -> None:
    """An error may lie long before the end of the process that it hits."""
    one = [*ends("dmesg", "n0", (11, 500.0)), *reaped(11, 12)]
    assert times(one, Anchors(failed_at_ns=STOP))[0] is None
    cause = [replace(seen, role=EvidenceRole.ROOT) for seen in ends("dmesg", "n0", (11, 5.0), (12, 6.0))]  # fmt: skip
    assert times([*cause, *reaped(11, 12)], Anchors(failed_at_ns=STOP))[:2] == [None, None]
    apart = [*ends("dmesg", "n0", (11, 500.0), (12, 900.0)), *reaped(11, 12)]
    assert times(apart, Anchors(failed_at_ns=STOP))[:2] == [None, None]
    elsewhere = [*ends("dmesg", "n0", (11, 500.0), (12, 501.0)), *reaped(11, 12, node="n1")]
    assert times(elsewhere, Anchors(failed_at_ns=STOP))[:2] == [None, None]


def noise(artifact: str, line: int, at_s: float, text: str) -> Evidence:
    return row(artifact, line, f"[{at_s:13.6f}] {text}", role=EvidenceRole.NOISE)


def audit(line: int, at_s: float, ns: int) -> Evidence:
    return noise("dmesg", line, at_s, f"audit: type=1400 audit({ns / 1e9:.3f}:{line}): x")


def test_audit_records_that_agree_date_the_boot() -> None:
    last = row("dmesg", 9, "[  700.000000] x")
    known = Anchors(failed_at_ns=STOP)
    agree = [audit(1, 100.0, STOP - 600 * SECOND_NS), audit(2, 400.0, STOP - 300 * SECOND_NS)]
    assert times([*agree, last], known)[-1] == STOP
    assert times([agree[0], last], known)[-1] is None, "one record alone may be quoted"
    differ = [agree[0], audit(2, 90000.0, STOP - 300 * SECOND_NS)]
    assert times([*differ, last], known)[-1] is None
    years_off = [audit(k, 100.0 * k, STOP - 9000 * DAY + 100 * k * SECOND_NS) for k in (1, 2)]
    assert times([*years_off, last], known)[-1] is None, "a log of an incident ends near its stop"


def test_the_hardware_clock_dates_the_boot_less_surely_with_every_day() -> None:
    begun = STOP - 2 * DAY
    told = f"rtc_cmos 00:01: setting system clock to 2026-03-12T12:00:02 UTC ({begun // SECOND_NS + 2})"
    last = row("dmesg", 9, f"[{2 * 86400}.000000] x")
    placed = place(logs([noise("dmesg", 1, 2.0, told), last]), Anchors(failed_at_ns=STOP))
    at_ns, error_ns = placed.evidence[-1].at_ns, placed.evidence[-1].error_ns
    assert at_ns == STOP
    assert 5 * SECOND_NS < error_ns < 20 * SECOND_NS
    assert any("its own lines" in note for note in placed.notes)
    twice = [noise("dmesg", 1, 2.0, told), noise("dmesg", 5, 3.0, told)]
    assert times([*twice, last], Anchors(failed_at_ns=STOP))[-1] is None, "of two boots"


def test_what_follows_on_other_nodes_dates_only_a_log_that_ends_near_the_stop() -> None:
    told = [
        row(f"n{k}.log", 1, syslog(STOP), f"n{k}", role=EvidenceRole.CONSEQUENCE) for k in (1, 2, 3)
    ]
    follows = row("dmesg", 1, "[  500.000000] x", "n9", role=EvidenceRole.CONSEQUENCE)
    known = Anchors(failed_at_ns=STOP)
    assert times([follows, *told], known)[0] == STOP
    days_on = row("dmesg", 2, f"[{3 * 86400}.000000] y", "n9")
    assert times([follows, days_on, *told], known)[0] is None
    assert times([replace(follows, code=45), *told], known)[0] is None, "another code"


def test_uptime_alone_stays_undated_and_is_said() -> None:
    placed = place(logs([row("a", 1, "[  500.000000] m")]), Anchors(failed_at_ns=STOP))
    assert placed.evidence[0].at_ns is None
    assert any("boot" in note for note in placed.notes)


def test_files_and_templates_get_times_too() -> None:
    stamp = read_envelope("2026-03-14T12:00:00Z x").stamp
    template = TemplateCount("t", 1, 1, 1, first_stamp=stamp, last_stamp=stamp)
    file = LogFile("a", LogKind.JOB, first_stamp=stamp, last_stamp=stamp, templates=(template,))
    placed = place(LogSet(files=[file]), Anchors()).files[0]
    assert (placed.first_at_ns, placed.last_at_ns) == (STOP, STOP)
    assert (placed.templates[0].first_at_ns, placed.templates[0].last_at_ns) == (STOP, STOP)


STAMPS = st.builds(
    Stamp,
    wall_ns=st.none() | st.integers(0, 7_000_000_000 * SECOND_NS),
    uptime_ns=st.none() | st.integers(0, 10**18),
    has_year=st.booleans(),
    zone_s=st.none() | st.integers(-50_400, 50_400),
)


@given(st.lists(st.tuples(st.sampled_from("abc"), STAMPS), max_size=12), st.randoms())
def test_the_order_of_rows_decides_nothing(
    drawn: list[tuple[str, Stamp]], rng: random.Random
) -> None:
    rows = [
        Evidence(name, k, "s", Kind.XID, EvidenceRole.ROOT, "t", node=name, stamp=stamp)
        for k, (name, stamp) in enumerate(drawn)
    ]
    mixed = rng.sample(rows, len(rows))
    one, two = place(logs(rows), Anchors(STOP)), place(logs(mixed), Anchors(STOP))
    assert {e.line: e.at_ns for e in one.evidence} == {e.line: e.at_ns for e in two.evidence}
    assert one.notes == two.notes


def test_a_log_that_ends_where_the_dumps_do_tells_the_zone() -> None:
    """A process that waits prints nothing more, long before the job is given up."""
    anchors = Anchors(failed_at_ns=STOP + 10 * MINUTE_NS, dump_last_ns=STOP)
    rows = [
        row(f"nodes/n{k}/rank.log", 1, syslog(STOP - 8 * HOUR + k * SECOND_NS), f"n{k}")
        for k in range(3)
    ]
    assert times(rows, anchors, LogKind.JOB) == [STOP + k * SECOND_NS for k in range(3)]
    # Without the job's end, too; and never without the dumps.
    assert times(rows, Anchors(dump_last_ns=STOP), LogKind.JOB) == [
        STOP + k * SECOND_NS for k in range(3)
    ]
    assert times(rows, Anchors(at_ns=STOP), LogKind.JOB)[0] == STOP - 8 * HOUR


def test_logs_of_one_job_end_together_in_whatever_zone() -> None:
    """A scheduler states its zone; the job's own log may well be in UTC, if they end as one then."""
    scheduler = row("bhist.txt", 1, f"{printed(STOP + 2 * HOUR, '%Y-%m-%d %H:%M:%S')}+02:00 exited")
    utc_log = row("job.log", 1, f"{printed(STOP - MINUTE_NS, '%Y-%m-%d %H:%M:%S')} refused")
    local = row("job.log", 1, f"{printed(STOP + 2 * HOUR, '%Y-%m-%d %H:%M:%S')} refused")
    for line, at_ns in ((utc_log, STOP - MINUTE_NS), (local, STOP)):
        assert times([scheduler, line], Anchors(), LogKind.JOB) == [STOP, at_ns]
