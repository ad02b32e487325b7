"""The history of a fleet's faults, and what of it says how often a node will fail next.

A fault is an interruption that a node stood as a suspect of, or an unplanned outage; one that
convicted a node and then took it out is one fault. Assumes that what a fault says of its node
fades with time, and that faults of one cause that go round in the fleet say little of a node.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.columns import FleetRecord, Floats, Ints
from triage.fleet.record.faults import faults_of
from triage.fleet.record.node_exposure import NS_PER_DAY
from triage.fleet.standings.strikes import NS_PER_HOUR, Strikes, episodes, strikes_of

__all__ = [
    "SPAN",
    "FaultHistory",
    "as_known_at",
    "away_for",
    "decayed_faults",
    "expected_back",
    "history_of",
    "wave_weights",
]

# An outage that begins so soon after an interruption of its node, or so shortly before one that
# is told late, is that interruption's.
SAME_FAULT_DAYS: Final = 1.0
# Faults of one cause so near to each other, on several nodes, are one wave.
WAVE_DAYS: Final = 28.0
# A fault tells of its node as far as the node, and not the wave, is behind it: a node's own
# share is this part of the fleet's rate over that part and the rate of the wave.
OWN_PART: Final = 0.3
# So much of a repair's time counts as time since the fault: a long one is likelier to hold.
OUT_COUNTS: Final = 0.25
# How a repair goes on of which the record knows no longer one: for so many more, as long again.
UNSEEN_REPAIRS: Final = 3
SHORTEST_REPAIR_DAYS: Final = 0.5
# Days of one fault key; no record is as long.
SPAN: Final = 1e7


@dataclass(frozen=True, slots=True)
class FaultHistory:
    """One row per fault, by time; days are since the record's start.

    ``back_day`` is when the node came back, ``days`` where it is still out; an interruption
    without an outage comes back at once. ``cause`` are codes: faults of one code are of one kind.
    ``share`` is the blame (a tie of two is a half each), 1 for an outage. ``of_work`` says that
    the cause lies in what runs on the node, and in no part of it.
    """

    node: Ints
    day: Floats
    back_day: Floats
    cause: Ints
    share: Floats
    of_work: Floats
    num_nodes: int
    days: float

    def __len__(self) -> int:
        return len(self.node)


OF_WORK: Final = frozenset(
    {
        str(OutageCause.SOFTWARE),
        str(OutageCause.HUMAN),
        str(OutageCause.FACILITY),
        str(OutageCause.SWITCH),
        str(OutageCause.MAINTENANCE),
    }
)


def history_of(record: FleetRecord, strikes: Strikes | None = None) -> FaultHistory:
    """The faults of all nodes of the record, known by interruptions, outages or both.

    ``strikes`` are those of the record, where they are worked out already.
    """
    faults = faults_of(record)
    kept = np.flatnonzero(faults.begun) if len(faults) else np.zeros(0, np.int64)
    strikes = episodes(strikes_of(record) if strikes is None else strikes, NS_PER_HOUR)
    struck_day = (strikes.at_ns - record.since_ns) / NS_PER_DAY
    where_node = faults.node[kept].astype(np.int64)
    start, back = faults.start_day[kept], faults.back_day[kept]
    follows = later_of(where_node, start, strikes.node.astype(np.int64), struck_day)
    joined = follows >= 0
    strike_back = struck_day.copy()
    strike_back[joined] = np.maximum(back[follows[joined]], struck_day[joined])
    alone = np.ones(len(kept), dtype=bool)
    alone[follows[joined]] = False
    names = [str(faults.cause[row]) for row in kept[alone].tolist()]
    of_strikes = [str(record.accusations.category[row]) for row in strikes.row.tolist()]
    every = [*names, *of_strikes]
    codes = {name: code for code, name in enumerate(sorted(set(every)))}
    day = np.concatenate([start[alone], struck_day])
    order = np.argsort(day, kind="stable")
    return FaultHistory(
        node=np.concatenate([where_node[alone], strikes.node.astype(np.int64)])[order],
        day=day[order],
        back_day=np.concatenate([back[alone], strike_back])[order],
        cause=np.array([codes[name] for name in every], np.int64)[order],
        share=np.concatenate([np.ones(int(alone.sum())), strikes.blame])[order],
        of_work=np.array([name in OF_WORK for name in every], np.float64)[order],
        num_nodes=len(record.nodes),
        days=(record.until_ns - record.since_ns) / NS_PER_DAY,
    )


def later_of(node: Ints, start: Floats, struck: Ints, at: Floats) -> Ints:
    """For each strike the row of the outage that it is one fault with; -1 for none."""
    if not len(node) or not len(struck):
        return np.full(len(struck), -1, np.int64)
    keys = node * SPAN + start
    order = np.argsort(keys, kind="stable")
    place = np.searchsorted(keys[order], struck * SPAN + at - SAME_FAULT_DAYS)
    place = np.minimum(place, len(order) - 1)
    row: Ints = order[place].astype(np.int64)
    near = (node[row] == struck) & (np.abs(start[row] - at) <= SAME_FAULT_DAYS)
    return np.where(near, row, -1)


def as_known_at(history: FaultHistory, day: float) -> FaultHistory:
    """The history as it was known on that day: nothing later, and open repairs are open."""
    num = int(np.searchsorted(history.day, day, side="right"))
    return replace(
        history,
        node=history.node[:num],
        day=history.day[:num],
        back_day=np.minimum(history.back_day[:num], day),
        cause=history.cause[:num],
        share=history.share[:num],
        of_work=history.of_work[:num],
        days=day,
    )


def wave_weights(history: FaultHistory) -> Floats:
    """How much each fault tells of its own node; 1 on average.

    A fault of a cause that many other nodes have within ``WAVE_DAYS`` is the wave's rather than
    the node's.
    """
    if not len(history):
        return np.ones(0)
    of_cause = near(history.cause, history.day)
    own = near(history.cause * history.num_nodes + history.node, history.day)
    first = np.maximum(history.day - WAVE_DAYS, 0.0)
    last = np.minimum(history.day + WAVE_DAYS, history.days)
    span = np.maximum(last - first, WAVE_DAYS)
    wave = (of_cause - own) / span / history.num_nodes
    part = OWN_PART * len(history) / max(history.days, 1.0) / history.num_nodes
    weights: Floats = history.share * part / (part + wave)
    mean = float(weights.sum()) / (float(history.share.sum()) or 1.0)
    return weights / (mean or 1.0)


def near(group: Ints, day: Floats) -> Ints:
    """How many of its group lie within ``WAVE_DAYS`` of each, itself among them."""
    keys = group * SPAN + day
    order = np.sort(keys)
    after = np.searchsorted(order, keys + WAVE_DAYS, side="right")
    counts: Ints = after - np.searchsorted(order, keys - WAVE_DAYS, side="left")
    return counts


def decayed_faults(history: FaultHistory, half_life_days: float, weights: Floats) -> Floats:
    """The weighed faults of each node, each half as much a half-life after the node came back.

    A node fails again after its return, and not while it is out; after a long repair less so, and
    its time counts in part. Shape (nodes,).
    """
    out = history.back_day - history.day
    fading = np.exp2(-(history.days - history.back_day + OUT_COUNTS * out) / half_life_days)
    return np.bincount(history.node, weights * fading, history.num_nodes).astype(np.float64)


def away_for(history: FaultHistory) -> Floats:
    """For how many days each node has been out; -1 where it is in service. Shape (nodes,)."""
    out = np.full(history.num_nodes, -1.0)
    still = (history.back_day >= history.days) & (history.back_day > history.day)
    out[history.node[still]] = history.days - history.day[still]
    return out


def expected_back(history: FaultHistory, horizon_days: float) -> tuple[Floats, Floats]:
    """The part of the next ``horizon_days`` that each node can be expected in service, and the
    chance that it is back within them.

    A node that is out has outlasted the shorter repairs: what is left of the longer ones is
    what is left of its own. It cannot fail before it is back.
    """
    share, back = np.ones(history.num_nodes), np.ones(history.num_nodes)
    away = away_for(history)
    took = np.sort((history.back_day - history.day)[history.back_day < history.days])
    for node in np.flatnonzero(away >= 0).tolist():
        longer = took[np.searchsorted(took, away[node], side="right") :] - away[node]
        unseen = np.full(UNSEEN_REPAIRS, max(float(away[node]), SHORTEST_REPAIR_DAYS))
        left = np.concatenate([longer, unseen])
        share[node] = float(np.clip(1.0 - left / horizon_days, 0.0, 1.0).mean())
        back[node] = float((left < horizon_days).mean())
    return share, back
