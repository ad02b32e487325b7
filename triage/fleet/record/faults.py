"""Faults: when each node went out of service unplanned, when it came back, and why.

The view of a record that spares, standings and repairs are worked out from. Outages of one node
that overlap or touch are one fault, whose cause and action are those of the first that names any.
So are those between which planned maintenance kept the node out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.record.columns import (
    Flags,
    FleetRecord,
    Floats,
    Ints,
    Outages,
    OutageStretch,
    Runs,
    Small,
)
from triage.fleet.record.node_exposure import NS_PER_DAY

# Outages of a record: cut to its time, once a node, those that last ended by the next run.
#
# Of what lasts, some sources never tell the end (``sinfo -R``, a ticket that nobody closed, a log
# that was rotated), and a node would be out forever. A run that starts on it shows that it was
# back.

NEVER_NS: Final = int(np.iinfo(np.int64).max)
# A run may start while somebody is about to drain its node.
_SLACK_NS: Final = 600 * 10**9


def build_outages(
    told: Iterable[OutageStretch], runs: Runs, since_ns: int, until_ns: int
) -> tuple[Outages, int]:
    """Outages cut to the time; ``end_ns`` of one that lasts is told as :data:`NEVER_NS`. Those of
    one node that overlap are one: it is out only once.

    A planned one is kept apart from a fault that it overlaps. The second value says how many that
    last were ended by the next run.
    """
    rows = [row for row in told if row.start_ns < until_ns and row.end_ns >= since_ns]
    lasting = [row for row in rows if row.end_ns == NEVER_NS]
    again = find_next_runs(
        runs,
        since_ns,
        np.array([row.node for row in lasting], np.int32),
        np.array([row.start_ns for row in lasting], np.int64),
    )
    ends = iter(again.tolist())
    found: list[OutageStretch] = []
    for row in rows:
        start = max(row.start_ns, since_ns)
        end = min(next(ends) if row.end_ns == NEVER_NS else row.end_ns, until_ns)
        found.append(OutageStretch(row.node, start, max(start, end), *row[3:]))
    merged: list[OutageStretch] = []
    for stretch in sorted(found, key=lambda one: (one.node, one.planned, one.start_ns)):
        if merged and merged[-1].touches(stretch):
            merged[-1] = merged[-1].joined(stretch)
        else:
            merged.append(stretch)
    merged.sort(key=lambda one: (one.node, one.start_ns, one.planned))
    return Outages.of_rows(merged), int(np.count_nonzero(again < NEVER_NS))


def find_next_runs(runs: Runs, since_ns: int, node: Small, from_ns: Ints) -> Ints:
    """When the first run on each of these nodes began that began ten minutes after ``from_ns`` or
    later, in ns; ``NEVER_NS`` where none did.

    A run that is cut to ``since_ns``, the start of the record, may have begun before it, and shows
    nothing.
    """
    found = np.full(len(node), NEVER_NS, np.int64)
    if not len(node) or not len(runs.node):
        return found
    asked = np.zeros(max(int(runs.node.max()), int(node.max())) + 1, np.bool_)
    asked[node] = True
    member = np.flatnonzero(asked[runs.node])
    begin = runs.start_ns[np.searchsorted(runs.node_at, member, side="right") - 1]
    of = runs.node[member]
    order = np.lexsort((begin, of))
    order = order[begin[order] > since_ns]
    of, begin = of[order], begin[order]
    for row, (name, start) in enumerate(zip(node.tolist(), from_ns.tolist(), strict=True)):
        first, last = np.searchsorted(of, [name, name + 1])
        place = first + int(np.searchsorted(begin[first:last], start + _SLACK_NS))
        if place < last:
            found[row] = begin[place]
    return found


@dataclass(frozen=True, slots=True)
class Faults:
    """One row per fault, by start, then node; times are days since the record's start.

    ``end_day`` is the end of what nobody planned. ``back_day`` is when the node was in service
    again: the same, or the end of planned maintenance that went on from there. ``back`` is False
    where it was not by the end of the record (``back_day`` is that end), and ``begun`` False where
    it was out at its beginning already: such a row tells of the nodes that are away, and is no
    arrival. ``num_nodes`` counts those without a fault too.
    """

    node: Small
    start_day: Floats
    end_day: Floats
    back_day: Floats
    begun: Flags
    back: Flags
    cause: tuple[OutageCause, ...]
    action: tuple[RepairAction | None, ...]
    num_nodes: int
    days: float
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.node)


def faults_of(record: FleetRecord) -> Faults:
    """The faults of a record."""
    since_ns, length = record.since_ns, record.until_ns - record.since_ns
    rows = sorted(record.outages.rows(), key=lambda row: (row.node, row.start_ns, row.end_ns))
    upkeep: dict[int, list[OutageStretch]] = {}
    for row in rows:
        if row.planned:
            upkeep.setdefault(row.node, []).append(row)
    found: list[tuple[OutageStretch, int]] = []
    for row in rows:
        if row.planned or row.start_ns >= record.until_ns or row.end_ns < since_ns:
            continue
        back_ns = row.end_ns
        # Maintenance that goes on at the end of an outage, or begins with it, keeps the node out.
        for span in upkeep.get(row.node, ()):
            if span.start_ns <= back_ns < span.end_ns:
                back_ns = span.end_ns
        if found and found[-1][0].node == row.node and row.start_ns <= found[-1][1]:
            last, until_ns = found.pop()
            row, back_ns = last.joined(row), max(until_ns, back_ns)
        found.append((row, back_ns))
    found.sort(key=lambda one: (max(one[0].start_ns, since_ns), one[0].node))
    merged = [row for row, _ in found]
    began = np.array([row.start_ns for row in merged], np.int64) - since_ns
    start = np.maximum(began, 0)
    end = np.clip(np.array([row.end_ns for row in merged], np.int64) - since_ns, start, length)
    back = np.clip(np.array([back_ns for _, back_ns in found], np.int64) - since_ns, end, length)
    return Faults(
        node=np.array([row.node for row in merged], np.int32),
        start_day=start / NS_PER_DAY,
        end_day=end / NS_PER_DAY,
        back_day=back / NS_PER_DAY,
        begun=began > 0,
        back=back < length,
        cause=tuple(row.cause for row in merged),
        action=tuple(row.action for row in merged),
        num_nodes=len(record.nodes),
        days=length / NS_PER_DAY,
    )
