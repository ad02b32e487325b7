"""Strikes: interruptions in which a node stood as a suspect, and its share of the blame.

What counts is an unplanned interruption of a known run that the node was in, of a cause that a
node can have. Without the run there is no exposure that it could be held against. The blame of
an interruption is 1 in all, shared by score among its suspects: a tie of two is a half each.

Who stands out: more blame than chance and a common rate explain, over many at once.

Assumes that blame comes as a Poisson process at one rate per exposure. For whole counts the
chance of as much or more is exact. For shares of blame it is an upper bound of the kind that
matters: a sum of shares spreads less about its mean than a count does, so it is the safe side.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.domain.category import OF_THE_NODE, Category
from triage.fleet.record.columns import Columns, Flags, FleetRecord, Floats, Ints, Small
from triage.fleet.record.faults import faults_of
from triage.fleet.record.node_exposure import NS_PER_DAY
from triage.statistics.rates import adjust_p_values

NS_PER_HOUR: Final = 3_600 * 10**9
WINDOW_DAYS: Final = 56.0
"""What tests of a standing count."""
FALSE_DISCOVERY_RATE: Final = 0.05
"""Healthy members among those that are found, at most."""
# What a switch or its cables can do to the nodes behind it.
_OF_THE_FABRIC: Final = frozenset({Category.NETWORK, Category.NIC, Category.NCCL_TIMEOUT})


@dataclass(frozen=True, slots=True)
class Strikes(Columns):
    """One row per accusation that counts, in the order of the record.

    ``row`` is its row in the record's accusations. ``fabric`` says that a leaf switch could be
    behind it. ``num_left_out`` accusations had no run with the node in it.
    """

    row: Ints
    node: Small
    at_ns: Ints
    blame: Floats
    fabric: Flags
    num_left_out: int = 0


def build_strikes(record: FleetRecord) -> Strikes:
    """The strikes of a record."""
    accusations, stops = record.accusations, record.interruptions
    which = accusations.interruption
    of_cause = np.array(
        [cause is None or cause in OF_THE_NODE for cause in stops.cause], dtype=bool
    )
    of_node = np.array([one in OF_THE_NODE for one in accusations.category], dtype=bool)
    inside = (stops.at_ns >= record.since_ns) & (stops.at_ns <= record.until_ns)
    counts = of_node & (of_cause & inside & ~stops.planned)[which] if len(which) else of_node
    placed = _is_in_its_run(record)
    rows = np.flatnonzero(counts & placed)
    fabric = np.array(
        [accusations.category[row] in _OF_THE_FABRIC for row in rows.tolist()], dtype=bool
    )
    return Strikes(
        row=rows,
        node=accusations.node[rows],
        at_ns=stops.at_ns[which[rows]],
        blame=_compute_shares(record)[rows],
        fabric=fabric,
        num_left_out=int(np.count_nonzero(counts & ~placed)),
    )


def _compute_shares(record: FleetRecord) -> Floats:
    """The share of each accusation in its interruption; equal ones where no score says more."""
    accusations = record.accusations
    score = np.clip(np.nan_to_num(accusations.score), 0.0, 1.0)
    size = len(record.interruptions.at_ns)
    total = np.bincount(accusations.interruption, weights=score, minlength=size)[
        accusations.interruption
    ]
    num = np.bincount(accusations.interruption, minlength=size)[accusations.interruption]
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = np.where(total > 0, score / total, 1.0 / num)
    return share


def _is_in_its_run(record: FleetRecord) -> Flags:
    """Whether the accused node was in the run that the interruption ended."""
    accusations, runs = record.accusations, record.runs
    run_of = record.interruptions.run[accusations.interruption]
    found = np.zeros(len(accusations.node), dtype=bool)
    present = np.zeros(len(record.nodes), dtype=bool)
    order = np.argsort(run_of, kind="stable")
    edges = np.flatnonzero(np.diff(run_of[order])) + 1
    for rows in np.split(order, edges):
        if not rows.size or run_of[rows[0]] < 0:
            continue
        run = int(run_of[rows[0]])
        nodes = runs.node[runs.node_at[run] : runs.node_at[run + 1]]
        accused = accusations.node[rows]
        if (nodes[1:] > nodes[:-1]).all():  # as they mostly come
            place = np.minimum(np.searchsorted(nodes, accused), max(len(nodes) - 1, 0))
            found[rows] = nodes[place] == accused if len(nodes) else False
            continue
        present[nodes] = True
        found[rows] = present[accused]
        present[nodes] = False
    return found


def merge_episodes(strikes: Strikes, within_ns: int) -> Strikes:
    """One strike for those of one node that follow each other within ``within_ns``.

    A job that starts again on the same broken node fails again at once: that is one fault. The
    first row stands for them, with the largest blame of all.
    """
    if not strikes.node.size:
        return strikes
    order = np.lexsort((strikes.row, strikes.at_ns, strikes.node))
    node, at_ns = strikes.node[order], strikes.at_ns[order]
    new = np.concatenate(([True], (np.diff(node) != 0) | (np.diff(at_ns) > within_ns)))
    first = np.flatnonzero(new)
    kept = order[first]
    blame = np.maximum.reduceat(strikes.blame[order], first)
    return replace(strikes.take(kept), blame=blame)


def sum_by_member(of: Ints | Small, values: Floats, size: int) -> Floats:
    """The sum of ``values`` for each of ``size`` members; ``of`` says whose each value is."""
    return np.bincount(of, weights=values, minlength=size).astype(np.float64)


_MAX_ROUNDS: Final = 20
# A fleet in which nobody else was ever blamed still has a rate: less than one event is known.
_UNSEEN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Excess:
    """``rate`` is per unit of exposure, without those who stand out; the rest is per member.

    ``p`` and ``q`` are 1 where there is no exposure.
    """

    rate: float
    expected: Floats
    p: Floats
    q: Floats
    found: Flags


def find_outliers(blame: Floats, exposure: Floats) -> Excess:
    """The members whose blame stands out.

    Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995) over all members with exposure. Their
    own events would raise the rate that they are held against, so whoever was found is left out
    of it, and all are tested again until nobody more is found.
    """
    tested = exposure > 0
    found = np.zeros(len(blame), dtype=bool)
    excess = _test_members(blame, exposure, tested, found)
    for _ in range(_MAX_ROUNDS):
        if not (excess.found & ~found).any():
            break
        found = found | excess.found
        excess = _test_members(blame, exposure, tested, found)
    return excess


def _test_members(blame: Floats, exposure: Floats, tested: Flags, without: Flags) -> Excess:
    """All members held against the rate of those not in ``without``."""
    rest = tested & ~without
    time = float(exposure[rest].sum()) or float(exposure[tested].sum())
    rate = max(float(blame[rest].sum()), _UNSEEN) / time if time else 0.0
    expected = rate * exposure
    p = np.ones(len(blame))
    p[tested] = compute_tail_chance(blame[tested], expected[tested])
    q = np.ones(len(blame))
    q[tested] = adjust_p_values(p[tested])
    return Excess(rate, expected, p, q, tested & (q <= FALSE_DISCOVERY_RATE))


def compute_tail_chance(blame: Floats, expected: Floats) -> Floats:
    """P[X >= blame] of a Poisson count; between whole numbers its continuous extension."""
    from scipy.special import gammainc

    some = blame > 0
    p = np.ones(len(blame))
    p[some] = gammainc(blame[some], expected[some])
    return p


# The history of a fleet's faults.
#
# A fault is an interruption that a node stood as a suspect of, or an unplanned outage; one that
# convicted a node and then took it out is one fault.

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
