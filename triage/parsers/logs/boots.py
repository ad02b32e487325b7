"""When each log's uptime began: from lines with both clocks, or from what other logs date.

The order of trust: both clocks in the same log, in another log of the node, a boot
message that is dated, the same message in a dated log of the node, the processes that
a dated log of the node saw end, a wall time that the kernel writes into a message, and
at last what most nodes print at one moment.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Final

from triage.domain.evidence import Evidence, EvidenceRole, Kind, Stamp
from triage.domain.patterns import compile_re
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.stamps import DAY_NS, MINUTE_NS, SECOND_NS, set_nearest_year
from triage.parsers.logs.uptimes import (
    TAKEN_NS,
    BootSpan,
    find_boot,
    find_spans,
    group_by_node,
    separate_boots,
)

# What a zone that nobody knows may be off by.
_NO_ZONE_ERROR_NS: Final = 14 * 60 * MINUTE_NS
_NO_YEAR_ERROR_NS: Final = 366 * DAY_NS
# Where nothing dates an incident, times without a year stay in the year they are reckoned in.
_NO_YEAR_ANCHOR_NS: Final = 11_322 * DAY_NS  # 31 December 2000
# Nodes print what hits all of them within so long.
_TOGETHER_NS: Final = MINUTE_NS
_MS_NS: Final = SECOND_NS // 1000
# The kernel stamps lines with a counter that no NTP steers: so many seconds a second.
_DRIFT: Final = 5e-5
# How the kernel writes the wall time into a message.
_CLOCK_SET = compile_re(r"setting system clock to .{10,40}\((\d{9,11})\)")
_AUDITED = compile_re(r"\baudit\((\d{9,11})\.(\d{3}):\d+\)")

Dater = Callable[[Stamp, int | None], tuple[int, int] | None]
_Boot = tuple[int, int]
"""When uptime began, and the error of that, both in ns."""


@dataclass(frozen=True, slots=True)
class Wall:
    """How the wall times of one file are read: the anchor of their year, and their zone."""

    year_ns: int | None
    zone_ns: int | None

    def __call__(self, stamp: Stamp) -> tuple[int, int] | None:
        """(UTC ns, error ns) of a stamp with a wall time."""
        ns = stamp.wall_ns
        if ns is None:
            return None
        error = stamp.error_ns
        if not stamp.has_year:
            if self.year_ns is None:
                error += _NO_YEAR_ERROR_NS
            ns = set_nearest_year(ns, _NO_YEAR_ANCHOR_NS if self.year_ns is None else self.year_ns)
        if stamp.zone_s is not None:
            return ns - stamp.zone_s * SECOND_NS, error
        if self.zone_ns is None:
            return ns, error + _NO_ZONE_ERROR_NS
        return ns - self.zone_ns, error


def find_node(row: Evidence, files: Mapping[str, LogFile]) -> str | None:
    """The node of a row: its own, else its file's."""
    if row.node is not None:
        return row.node
    return files[row.artifact].node if row.artifact in files else None


class Boots:
    """When each log's uptime began, from lines that carry both clocks or from what others date."""

    def __init__(
        self,
        rows_of: Mapping[str, Sequence[Evidence]],
        files: Mapping[str, LogFile],
        wall_of: Callable[[str], Wall],
        stop_ns: int | None,
        notes: list[str],
    ) -> None:
        self.rows_of = rows_of
        self.files = files
        self.wall_of = wall_of
        self.stop_ns = stop_ns
        self.notes = notes
        self.spans: dict[str, list[BootSpan]] = {}
        self.node_by_line: dict[str, dict[int, str | None]] = {}
        known: dict[str, list[int]] = defaultdict(list)
        for name in sorted({*rows_of, *files}):
            rows = rows_of.get(name, ())
            spans = find_spans(rows, lambda row: find_node(row, files), wall_of(name))
            file = files.get(name)
            if file is not None and file.last_stamp.uptime_ns is not None:
                if not spans and file.last_stamp.wall_ns is None:
                    spans = [BootSpan(file.node, 0, 0)]
                if spans:
                    spans[-1].last_ns = max(spans[-1].last_ns, file.last_stamp.uptime_ns)
            self.spans[name] = spans
            self.node_by_line[name] = {row.line or 0: find_node(row, files) for row in rows}
            for span in spans:
                if span.node is not None:
                    known[span.node] += [begun for _, begun in span.anchors]
            for row in rows:
                node = find_node(row, files)
                if row.kind is Kind.BOOT and row.stamp.uptime_ns is None and node is not None:
                    read = wall_of(name)(row.stamp)
                    # A driver says that it is loaded, which it may be long after a boot.
                    known[node] += [] if read is None or row.family == "nvidia" else [read[0]]
        self.find(known)

    def find(self, known: Mapping[str, Sequence[int]]) -> None:
        """The boots of what carries uptime alone; ``known`` are those that lines of a node date."""
        notes = self.notes
        told = _collect_shared_times(self.rows_of, self.files, self.wall_of)
        boots = {node: separate_boots(times) for node, times in known.items()}
        stop_ns = self.stop_ns if self.stop_ns is not None else self.last_of_jobs()
        undated = 0
        for name in sorted(self.spans):
            for spans in group_by_node(self.spans[name]).values():
                later: int | None = None
                for k in range(len(spans) - 1, -1, -1):
                    span = spans[k]
                    if not span.anchors:
                        earlier = max(
                            (one.ended_ns for one in spans[:k] if one.ended_ns is not None),
                            default=0 if k else None,
                        )
                        begun = find_boot(
                            span, boots.get(span.node or "", ()), earlier, later, stop_ns
                        )
                        if begun is not None:
                            span.boot = (begun, SECOND_NS)
                        else:
                            by = self.by_other_means(span, told, later)
                            undated += by is None
                            if by is not None:
                                notes.append(f"{name}: seconds since boot are dated by {by}")
                    later = span.begun_ns if span.begun_ns is not None else later
        if undated:
            notes.append(f"{undated} logs count from boot, and nothing tells when that was")

    def last_of_jobs(self) -> int | None:
        """The last time in any job log, where nothing else tells when the job stood still."""
        times = [
            read[0]
            for name, file in self.files.items()
            if file.kind is LogKind.JOB
            for row in self.rows_of.get(name, ())
            for read in [self.wall_of(name)(row.last_stamp)]
            if read is not None
        ]
        return max(times, default=None)

    def by_other_means(
        self, span: BootSpan, told: "WallClockReports", later: int | None
    ) -> str | None:
        """Date a span by what others print, and say by what; None where nothing does."""
        rows, node, newest = span.rows, span.node, span.last_ns
        own = _find_boot_by_own_words(rows, newest, least=2 if later is None else 1)
        ways = {
            "what other logs report too": _find_boot_by_lines(rows, node, told)
            or _find_boot_by_processes(rows, node, told),
            # What stands above another boot of its log ended at any time before that.
            "the wall time in its own lines": own
            if later is not None
            else self.of_the_incident(own, newest),
            "what follows on other nodes at one moment": self.of_the_incident(
                _find_boot_by_moment(rows, told), newest
            ),
        }
        for by, boot in ways.items():
            if boot is not None and (later is None or boot[0] < later):
                span.boot = boot
                return by
        return None

    def of_the_incident(self, boot: _Boot | None, newest_ns: int) -> _Boot | None:
        """``boot``, where a log that ends at that uptime can have been taken after the stop."""
        if boot is None or self.stop_ns is None:
            return boot
        return boot if abs(boot[0] + newest_ns - self.stop_ns) <= TAKEN_NS else None

    def dater(self, artifact: str) -> Dater:
        """What dates the stamps of one log."""
        read_wall = self.wall_of(artifact)
        spans = self.spans.get(artifact, [])
        node_by_line = self.node_by_line.get(artifact, {})
        nodes = group_by_node(spans)

        def date(stamp: Stamp, line: int | None) -> tuple[int, int] | None:
            read = read_wall(stamp)
            if read is not None or stamp.uptime_ns is None or not spans:
                return read
            place = line or 0
            mine = nodes.get(node_by_line.get(place)) or spans
            before = [span for span in mine if span.first_line <= place]
            return (before[-1] if before else mine[0]).date(stamp, place)

        return date


@dataclass(frozen=True, slots=True)
class WallClockReports:
    """What the logs with wall times report: the times of a node's line, the last trouble of each
    process of a node, and of each sort of line the newest time of each node.
    """

    lines: Mapping[tuple[str, str, str], Sequence[int]]
    processes: Mapping[tuple[str | None, int], int]
    moments: Mapping[tuple[str, int | None], Sequence[int]]


def _collect_shared_times(
    rows_of: Mapping[str, Sequence[Evidence]],
    files: Mapping[str, LogFile],
    wall_of: Callable[[str], Wall],
) -> WallClockReports:
    """What the logs with wall times tell those that have none."""
    lines: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    processes: dict[tuple[str | None, int], int] = {}
    newest: dict[tuple[str, int | None, str], int] = {}
    for name in sorted(rows_of):
        for row in rows_of[name]:
            read = wall_of(name)(row.stamp)
            if read is None:
                continue
            node = find_node(row, files)
            if row.pid is not None and row.role is not EvidenceRole.NOISE:
                processes[node, row.pid] = max(processes.get((node, row.pid), read[0]), read[0])
            if node is None:
                continue
            lines[node, row.signature, row.text].append(read[0])
            key = (row.signature, row.code, node)
            newest[key] = max(newest.get(key, read[0]), read[0])
    moments: dict[tuple[str, int | None], list[int]] = defaultdict(list)
    for (signature, code, _), ns in newest.items():
        moments[signature, code].append(ns)
    return WallClockReports(lines, processes, moments)


def _find_boot_by_lines(
    rows: Sequence[Evidence], node: str | None, told: WallClockReports
) -> _Boot | None:
    """By lines that another log of the node dates."""
    boots = [
        max(times) - row.stamp.uptime_ns
        for row in rows
        if row.stamp.uptime_ns is not None and node is not None
        for times in [told.lines.get((node, row.signature, row.text))]
        if times
    ]
    return _choose_agreed(boots, error_ns=2 * SECOND_NS)


def _find_boot_by_processes(
    rows: Sequence[Evidence], node: str | None, told: WallClockReports
) -> _Boot | None:
    """By two processes or more that the driver cleans up after, whose end a dated log tells."""
    last: dict[int, int] = {}
    for row in rows:
        # What a process died of may lie long before its end: only what follows its end counts.
        if row.role is not EvidenceRole.CONSEQUENCE:
            continue
        if row.pid is not None and row.stamp.uptime_ns is not None:
            last[row.pid] = max(last.get(row.pid, 0), row.stamp.uptime_ns)
    found = []
    for pid, uptime_ns in last.items():
        ended = told.processes.get((node, pid), told.processes.get((None, pid)))
        if ended is not None:
            found.append(ended - uptime_ns)
    return _choose_agreed(found, error_ns=_TOGETHER_NS) if len(found) > 1 else None


def _find_boot_by_own_words(rows: Sequence[Evidence], newest_ns: int, least: int) -> _Boot | None:
    """By the wall times that the kernel wrote: ``least`` audit records that agree, else the start.

    ``newest_ns`` is the last uptime in the log: the longer it ran, the less sure is its start.
    """
    started, audited = [], []
    for row in rows:
        uptime_ns = row.stamp.uptime_ns
        if row.role is not EvidenceRole.NOISE or uptime_ns is None:
            continue
        if record := _AUDITED.search(row.text):
            audited.append((uptime_ns, int(record[1] + record[2]) * _MS_NS - uptime_ns))
        elif clock := _CLOCK_SET.search(row.text):
            started.append(int(clock[1]) * SECOND_NS - uptime_ns)
    if len(audited) >= least:
        (first_ns, _), (last_ns, boot_ns) = min(audited), max(audited)
        if _spread(boot for _, boot in audited) <= _TOGETHER_NS + _estimate_drift_ns(
            last_ns - first_ns
        ):
            return boot_ns, SECOND_NS + _estimate_drift_ns(newest_ns - last_ns)
    return (
        (started[0], 2 * SECOND_NS + _estimate_drift_ns(newest_ns)) if len(started) == 1 else None
    )


def _estimate_drift_ns(span_ns: int) -> int:
    """How far the kernel's counter may be off after so long."""
    return int(span_ns * _DRIFT)


def _find_boot_by_moment(rows: Sequence[Evidence], told: WallClockReports) -> _Boot | None:
    """By what follows a stop on most nodes at one moment."""
    for row in sorted(rows, key=lambda one: -(one.stamp.uptime_ns or 0)):
        times = told.moments.get((row.signature, row.code), ())
        if (
            row.role is not EvidenceRole.CONSEQUENCE
            or len(times) < 3
            or row.stamp.uptime_ns is None
        ):
            continue
        middle = median_low(times)
        if sum(abs(ns - middle) <= _TOGETHER_NS for ns in times) * 2 > len(times):
            return middle - row.stamp.uptime_ns, 2 * _TOGETHER_NS
    return None


def _choose_agreed(boots: Sequence[int], *, error_ns: int) -> _Boot | None:
    """The boot in the middle, where all say about the same."""
    if not boots or _spread(boots) > 2 * _TOGETHER_NS:
        return None
    return median_low(boots), error_ns


def _spread(boots: Iterable[int]) -> int:
    found = list(boots)
    return max(found) - min(found)
