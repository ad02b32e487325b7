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
    outages = record.outages
    length = record.until_ns - record.since_ns
    inside = (outages.start_ns < record.until_ns) & (outages.end_ns >= record.since_ns)
    rows = np.flatnonzero(~outages.planned & inside)
    order = rows[np.lexsort((outages.end_ns[rows], outages.start_ns[rows], outages.node[rows]))]
    in_service = _compute_in_service_ns(outages, order)
    first = _find_fault_starts(outages, order, in_service)
    start = np.maximum(outages.start_ns[order] - record.since_ns, 0)
    end = np.clip(outages.end_ns[order] - record.since_ns, start, length)
    back = np.clip(in_service - record.since_ns, end, length)
    last = np.append(first[1:], len(order)) - 1 if len(first) else first
    ends, backs = (
        np.maximum.reduceat(one, first) if len(first) else one[:0] for one in (end, back)
    )
    pairs = [slice(a, b + 1) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    causes = [_find_first_cause(outages, order[pair]) for pair in pairs]
    actions = [_last_action(outages, order[pair]) for pair in pairs]
    by_start = np.lexsort((outages.node[order[first]], start[first])) if len(first) else first
    earliest = outages.start_ns[order[first]][by_start]
    return Faults(
        node=outages.node[order[first]][by_start],
        start_day=start[first][by_start] / NS_PER_DAY,
        end_day=ends[by_start] / NS_PER_DAY,
        back_day=backs[by_start] / NS_PER_DAY,
        begun=earliest > record.since_ns,
        back=backs[by_start] < length,
        cause=tuple(causes[row] for row in by_start.tolist()),
        action=tuple(actions[row] for row in by_start.tolist()),
        num_nodes=len(record.nodes),
        days=length / NS_PER_DAY,
    )


def _compute_in_service_ns(outages: Outages, order: Ints) -> Ints:
    """When the node of each of these rows was in service again, as far as planned outages tell.

    Maintenance that goes on at the end of an outage, or begins with it, keeps the node out.
    """
    back = outages.end_ns[order]
    planned = np.flatnonzero(outages.planned)
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in planned[np.argsort(outages.start_ns[planned], kind="stable")].tolist():
        span = int(outages.start_ns[row]), int(outages.end_ns[row])
        spans.setdefault(int(outages.node[row]), []).append(span)
    for place, node in enumerate(outages.node[order].tolist()) if spans else ():
        for start, end in spans.get(node, ()):
            if start <= back[place] < end:
                back[place] = end
    return back


def _find_fault_starts(outages: Outages, order: Ints, in_service: Ints) -> Small:
    """The places in ``order`` at which another fault begins."""
    first, reach, of = [], 0, -1
    nodes, starts = outages.node[order].tolist(), outages.start_ns[order].tolist()
    for place, end in enumerate(in_service.tolist()):
        if nodes[place] != of or starts[place] > reach:
            first.append(place)
            of, reach = nodes[place], end
        else:
            reach = max(reach, end)
    return np.array(first, np.int32)


def _find_first_cause(outages: Outages, rows: Ints) -> OutageCause:
    causes = (outages.cause[row] for row in rows.tolist())
    return next((one for one in causes if one is not OutageCause.UNKNOWN), OutageCause.UNKNOWN)


def _last_action(outages: Outages, rows: Ints) -> RepairAction | None:
    actions = (outages.action[row] for row in reversed(rows.tolist()))
    return next((one for one in actions if one is not None), None)
