"""Outages of a record: cut to its time, once a node, those that last ended by the next run.

Of what lasts, some sources never tell the end (``sinfo -R``, a ticket that nobody closed, a log
that was rotated), and a node would be out forever. A run that starts on it shows that it was back.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from triage.fleet.domain.cause import OutageCause
from triage.fleet.domain.repair import RepairAction
from triage.fleet.record.columns import Ints, Outages, OutageStretch, Runs, Small

NEVER_NS: Final = np.iinfo(np.int64).max
# A run may start while somebody is about to drain its node.
_SLACK_NS: Final = 600 * 10**9


class ToldOutage(NamedTuple):
    """An outage of a node, by its place in the record; ``end_ns`` is None while it lasts."""

    node: int
    start_ns: int
    end_ns: int | None
    reason: str
    cause: OutageCause
    action: RepairAction | None
    planned: bool


def build_outages(
    told: Iterable[ToldOutage], runs: Runs, since_ns: int, until_ns: int
) -> tuple[Outages, int]:
    """Outages cut to the time. Those of one node that overlap are one: it is out only once.

    A planned one is kept apart from a fault that it overlaps. The second value says how many that
    last were ended by the next run.
    """
    rows = [
        row
        for row in told
        if row.start_ns < until_ns and (row.end_ns is None or row.end_ns >= since_ns)
    ]
    lasting = [row for row in rows if row.end_ns is None]
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
        end = min(next(ends) if row.end_ns is None else row.end_ns, until_ns)
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
