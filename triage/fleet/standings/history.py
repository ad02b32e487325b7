"""The history of a fleet's faults.

A fault is an interruption that a node stood as a suspect of, or an unplanned outage; one that
convicted a node and then took it out is one fault.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.fleet.record.columns import FleetRecord, Floats, Ints
from triage.fleet.record.faults import faults_of
from triage.fleet.record.node_exposure import NS_PER_DAY
from triage.fleet.standings.strikes import NS_PER_HOUR, Strikes, build_strikes, merge_episodes

# An outage that begins so soon after an interruption of its node, or so shortly before one that
# is told late, is that interruption's.
_SAME_FAULT_DAYS: Final = 1.0
# Days of one fault key; no record is as long.
_SPAN: Final = 1e7


@dataclass(frozen=True, slots=True)
class FaultHistory:
    """One row per fault, by time; days are since the record's start.

    ``back_day`` is when the node came back, ``days`` where it is still out; an interruption
    without an outage comes back at once. ``share`` is the blame (a tie of two is a half each), 1
    for an outage.
    """

    node: Ints
    day: Floats
    back_day: Floats
    share: Floats
    num_nodes: int
    days: float

    def __len__(self) -> int:
        return len(self.node)


def build_history(record: FleetRecord, strikes: Strikes | None = None) -> FaultHistory:
    """The faults of all nodes of the record, known by interruptions, outages or both.

    ``strikes`` are those of the record, where they are worked out already.
    """
    faults = faults_of(record)
    kept = np.flatnonzero(faults.begun) if len(faults) else np.zeros(0, np.int64)
    strikes = merge_episodes(build_strikes(record) if strikes is None else strikes, NS_PER_HOUR)
    struck_day = (strikes.at_ns - record.since_ns) / NS_PER_DAY
    where_node = faults.node[kept].astype(np.int64)
    start, back = faults.start_day[kept], faults.back_day[kept]
    follows = _match_outages(where_node, start, strikes.node.astype(np.int64), struck_day)
    joined = follows >= 0
    strike_back = struck_day.copy()
    strike_back[joined] = np.maximum(back[follows[joined]], struck_day[joined])
    alone = np.ones(len(kept), dtype=bool)
    alone[follows[joined]] = False
    day = np.concatenate([start[alone], struck_day])
    order = np.argsort(day, kind="stable")
    return FaultHistory(
        node=np.concatenate([where_node[alone], strikes.node.astype(np.int64)])[order],
        day=day[order],
        back_day=np.concatenate([back[alone], strike_back])[order],
        share=np.concatenate([np.ones(int(alone.sum())), strikes.blame])[order],
        num_nodes=len(record.nodes),
        days=(record.until_ns - record.since_ns) / NS_PER_DAY,
    )


def _match_outages(node: Ints, start: Floats, struck: Ints, at: Floats) -> Ints:
    """For each strike the row of the outage that it is one fault with; -1 for none."""
    if not len(node) or not len(struck):
        return np.full(len(struck), -1, np.int64)
    keys = node * _SPAN + start
    order = np.argsort(keys, kind="stable")
    place = np.searchsorted(keys[order], struck * _SPAN + at - _SAME_FAULT_DAYS)
    place = np.minimum(place, len(order) - 1)
    row: Ints = order[place].astype(np.int64)
    near = (node[row] == struck) & (np.abs(start[row] - at) <= _SAME_FAULT_DAYS)
    return np.where(near, row, -1)


def cut_history(history: FaultHistory, day: float) -> FaultHistory:
    """The history as it was known on that day: nothing later, and open repairs are open."""
    num = int(np.searchsorted(history.day, day, side="right"))
    return replace(
        history,
        node=history.node[:num],
        day=history.day[:num],
        back_day=np.minimum(history.back_day[:num], day),
        share=history.share[:num],
        days=day,
    )


def measure_days_out(history: FaultHistory) -> Floats:
    """For how many days each node has been out; -1 where it is in service. Shape (nodes,)."""
    out = np.full(history.num_nodes, -1.0)
    still = (history.back_day >= history.days) & (history.back_day > history.day)
    out[history.node[still]] = history.days - history.day[still]
    return out
