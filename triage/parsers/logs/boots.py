"""When each log's uptime began: from lines with both clocks, or from what other logs date.

The order of trust: both clocks in the same log, in another log of the node, a boot
message that is dated, the same message in a dated log of the node, and at last
what most nodes print at one moment.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Final

from triage.domain.evidence import Evidence, EvidenceRole, Kind, Stamp
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.stamps import MINUTE_NS, SECOND_NS
from triage.parsers.logs.years import DAY_NS, in_year_of

__all__ = ["Boots", "Dater", "Wall", "node_of"]

# What a zone that nobody knows may be off by.
NO_ZONE_ERROR_NS: Final = 14 * 60 * MINUTE_NS
NO_YEAR_ERROR_NS: Final = 366 * DAY_NS
# Where nothing dates an incident, times without a year stay in the year they are reckoned in.
NO_YEAR_ANCHOR_NS: Final = 11_322 * DAY_NS  # 31 December 2000
# Nodes print what hits all of them within so long.
TOGETHER_NS: Final = MINUTE_NS

Dater = Callable[[Stamp, int | None], tuple[int, int] | None]


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
                error += NO_YEAR_ERROR_NS
            ns = in_year_of(ns, NO_YEAR_ANCHOR_NS if self.year_ns is None else self.year_ns)
        if stamp.zone_s is not None:
            return ns - stamp.zone_s * SECOND_NS, error
        if self.zone_ns is None:
            return ns, error + NO_ZONE_ERROR_NS
        return ns - self.zone_ns, error


def node_of(row: Evidence, files: Mapping[str, LogFile]) -> str | None:
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
        notes: list[str],
    ) -> None:
        self.wall_of = wall_of
        self.in_file: dict[str, list[tuple[int, int, int]]] = {}
        self.of_file: dict[str, tuple[int, int]] = {}
        by_node: dict[str, list[int]] = defaultdict(list)
        for name in sorted(rows_of):
            both = [
                (row.line or 0, read[0] - row.stamp.uptime_ns, row.stamp.uptime_ns)
                for row in rows_of[name]
                if row.stamp.uptime_ns is not None
                for read in [wall_of(name)(row.stamp)]
                if read is not None
            ]
            if both:
                self.in_file[name] = both
            for row in rows_of[name]:
                node = node_of(row, files)
                if row.stamp.wall_ns is None or node is None:
                    continue
                read = wall_of(name)(row.stamp)
                if read is not None and row.stamp.uptime_ns is not None:
                    by_node[node].append(read[0] - row.stamp.uptime_ns)
                elif read is not None and row.kind is Kind.BOOT:
                    by_node[node].append(read[0])
        self.find(rows_of, files, by_node, notes)

    def find(
        self,
        rows_of: Mapping[str, Sequence[Evidence]],
        files: Mapping[str, LogFile],
        by_node: Mapping[str, Sequence[int]],
        notes: list[str],
    ) -> None:
        """The boot of the files that carry uptime alone."""
        told = shared_times(rows_of, files, self.wall_of)
        undated = 0
        for name in sorted({*rows_of, *files}):
            rows = [row for row in rows_of.get(name, ()) if row.stamp.uptime_ns is not None]
            file = files.get(name)
            if name in self.in_file or not (rows or uptime_only(file)):
                continue
            node = next(
                (one for row in rows for one in [node_of(row, files)] if one is not None),
                file.node if file is not None else None,
            )
            if node is not None and by_node.get(node):
                self.of_file[name] = (max(by_node[node]), SECOND_NS)
                continue
            found = matched(rows, node, told)
            if found is not None:
                self.of_file[name] = found
                notes.append(f"{name}: seconds since boot are dated by what other logs report too")
            else:
                undated += 1
        if undated:
            notes.append(f"{undated} logs count from boot, and nothing tells when that was")

    def dater(self, artifact: str) -> Dater:
        """What dates the stamps of one log."""
        read_wall = self.wall_of(artifact)
        both = self.in_file.get(artifact, [])
        boot = self.of_file.get(artifact)

        def date(stamp: Stamp, line: int | None) -> tuple[int, int] | None:
            read = read_wall(stamp)
            if read is not None or stamp.uptime_ns is None:
                return read
            if both:
                begun = boot_at(both, line or 0, stamp.uptime_ns)
                return begun + stamp.uptime_ns, stamp.error_ns + SECOND_NS
            if boot is not None:
                return boot[0] + stamp.uptime_ns, stamp.error_ns + boot[1]
            return None

        return date


def boot_at(both: Sequence[tuple[int, int, int]], line: int, uptime_ns: int) -> int:
    """The boot that a line counts from: uptime grows from the line with both clocks before
    it, or else there was a reboot between and the line behind it tells.
    """
    after = bisect_left(both, (line + 1,))
    if after and (both[after - 1][2] <= uptime_ns or after == len(both)):
        return both[after - 1][1]
    return both[after][1]


def uptime_only(file: LogFile | None) -> bool:
    if file is None:
        return False
    return file.last_stamp.uptime_ns is not None and file.last_stamp.wall_ns is None


Told = dict[tuple[str | None, str, str], list[int]]


def shared_times(
    rows_of: Mapping[str, Sequence[Evidence]],
    files: Mapping[str, LogFile],
    wall_of: Callable[[str], Wall],
) -> Told:
    """Dated reports: (node, signature, text) -> times; with no node and text, one per node."""
    told: Told = defaultdict(list)
    newest: dict[tuple[str, str], int] = {}
    for name in sorted(rows_of):
        for row in rows_of[name]:
            read = wall_of(name)(row.stamp)
            node = node_of(row, files)
            if read is None or node is None:
                continue
            told[node, row.signature, row.text].append(read[0])
            key = (row.signature, node)
            newest[key] = max(newest.get(key, read[0]), read[0])
    for (signature, _), ns in sorted(newest.items()):
        told[None, signature, ""].append(ns)
    return told


def matched(rows: Sequence[Evidence], node: str | None, told: Told) -> tuple[int, int] | None:
    """(boot, error) by a line that another log of the node dates, or one that all nodes print."""
    exact = [
        max(told[node, row.signature, row.text]) - row.stamp.uptime_ns
        for row in rows
        if row.stamp.uptime_ns is not None
        and node is not None
        and (node, row.signature, row.text) in told
    ]
    if exact and max(exact) - min(exact) <= 2 * TOGETHER_NS:
        return median_low(exact), 2 * SECOND_NS
    for row in sorted(rows, key=lambda one: -(one.stamp.uptime_ns or 0)):
        times = told.get((None, row.signature, ""), ())
        if (
            row.role is not EvidenceRole.CONSEQUENCE
            or len(times) < 3
            or row.stamp.uptime_ns is None
        ):
            continue
        middle = median_low(times)
        if sum(abs(ns - middle) <= TOGETHER_NS for ns in times) * 2 > len(times):
            return middle - row.stamp.uptime_ns, 2 * TOGETHER_NS
    return None
