"""Days of nodes: on which a flag may be raised, and which a fault follows.

A day counts where the node was watched and in service for the whole window, so that what a fault
itself printed, or what came with a repair, announces nothing.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.columns import CounterDays, Flags, FleetRecord, Ints, Small
from triage.fleet.record.faults import faults_of
from triage.fleet.record.node_exposure import NS_PER_DAY

_Days = Ints | Small
WINDOW_DAYS: Final = 3
HORIZON_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class NodeDays:
    """Arrays of shape (rows, days); row ``i`` is the node ``nodes[i]`` of the record.

    ``clear`` days may raise a flag; ``followed`` ones have a fault within the horizon after
    them. ``fault_row`` and ``fault_day`` are the faults of watched nodes, each once a day.
    """

    nodes: Ints
    clear: Flags
    followed: Flags
    fault_row: Ints
    fault_day: Ints

    @property
    def num_days(self) -> int:
        """Whole days, and the one that goes on."""
        return int(self.clear.shape[1])


def node_days_of(record: FleetRecord, counters: CounterDays) -> NodeDays:
    """The days of all nodes that have telemetry."""
    first_day = record.since_ns // NS_PER_DAY
    num_days = max(int(-(-record.until_ns // NS_PER_DAY) - first_day), 1)
    nodes = np.unique(counters.seen_node).astype(np.int64)
    row_of = np.full(len(record.nodes) + 1, -1, np.int64)
    row_of[nodes] = np.arange(len(nodes))
    clear = _spans(
        len(nodes), num_days, row_of[counters.seen_node], counters.first_day, counters.last_day
    )
    fault_row, fault_day = _faults_by_day(record, row_of, first_day, num_days)
    clear &= _in_service(record, row_of, first_day, clear.shape)
    clear[fault_row, fault_day] = False
    whole = clear.copy()
    for back in range(1, WINDOW_DAYS):
        whole[:, back:] &= clear[:, :-back]
        whole[:, :back] = False
    followed = _spans(len(nodes), num_days, fault_row, fault_day - HORIZON_DAYS, fault_day - 1)
    return NodeDays(nodes, whole, followed, fault_row, fault_day)


def _spans(num_rows: int, num_days: int, row: Ints, first: _Days, last: _Days) -> Flags:
    """True from ``first`` to ``last`` of each row named; what lies outside is cut off."""
    steps = np.zeros((num_rows, num_days + 1), np.int32)
    begin, end = np.maximum(first, 0), np.minimum(last, num_days - 1) + 1
    kept = begin < end
    np.add.at(steps, (row[kept], begin[kept]), 1)
    np.add.at(steps, (row[kept], end[kept]), -1)
    found: Flags = np.cumsum(steps, axis=1)[:, :-1] > 0
    return found


def _faults_by_day(
    record: FleetRecord, row_of: Ints, first_day: int, num_days: int
) -> tuple[Ints, Ints]:
    """Row and day of each fault: outages that were not planned, and convictions."""
    faults = faults_of(record)
    start_ns = record.since_ns + faults.start_day * NS_PER_DAY
    convicted = record.accusations.convicted
    stop = record.accusations.interruption[convicted]
    planned = record.interruptions.planned[stop]
    node = np.concatenate([faults.node[faults.begun], record.accusations.node[convicted][~planned]])
    at_ns = np.concatenate(
        [start_ns[faults.begun], record.interruptions.at_ns[stop][~planned].astype(np.float64)]
    )
    day = (at_ns // NS_PER_DAY).astype(np.int64) - first_day
    row = row_of[node]
    inside = (row >= 0) & (day >= 0) & (day < num_days)
    once = np.unique(row[inside] * num_days + day[inside])
    return once // num_days, once % num_days


def _in_service(record: FleetRecord, row_of: Ints, first_day: int, shape: tuple[int, int]) -> Flags:
    """Days on which a node was not out of service at any time, planned or not."""
    outages = record.outages
    row = row_of[outages.node]
    first = outages.start_ns // NS_PER_DAY - first_day
    last = outages.end_ns // NS_PER_DAY - first_day
    known = row >= 0
    found: Flags = ~_spans(shape[0], shape[1], row[known], first[known], last[known])
    return found
