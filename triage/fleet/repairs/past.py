"""What is known of earlier returns at each return: faults seen over faults expected.

Each figure looks at its own past alone, so that a return is judged as on the day it happened. It
decays with a half-life, and is shrunk towards 1 by so many expected faults without a surprise.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from triage.fleet.record.columns import Flags, Floats, Ints
from triage.fleet.repairs.curve import EARLY_DAYS, EDGES, LATE_DAYS, USUAL, cumulative
from triage.fleet.repairs.returns import Returns

EARLY: Final = (0.0, EARLY_DAYS)
LATE: Final = (EARLY_DAYS, LATE_DAYS)
WHOLE: Final = (0.0, LATE_DAYS)


def ratios(
    returns: Returns,
    among: Flags,
    expected: Floats,
    span: tuple[float, float],
    half_life: float,
    pseudo: float,
) -> Floats:
    """At each return ``among`` these: seen over expected, of those before it.

    ``expected`` is by how much each return's own curve is held to be higher than the usual one;
    faults count that came in ``span`` days after a return.
    """
    day, next_day = returns.day[among], returns.next_day[among]
    weight = np.exp2(day / half_life)
    gap = next_day - day
    hit = (gap >= span[0]) & (gap < span[1])
    seen_at = np.sort(next_day[hit])
    seen = np.concatenate([[0.0], np.cumsum(weight[hit][np.argsort(next_day[hit])])])
    observed = seen[np.searchsorted(seen_at, day, side="right")]
    hoped = _hazard_until(day, next_day, weight * expected[among], span)
    decay = np.exp2(-day / half_life)
    return np.asarray((observed * decay + pseudo) / (hoped * decay + pseudo), np.float64)


def _hazard_until(
    day: Floats, next_day: Floats, weight: Floats, span: tuple[float, float]
) -> Floats:
    """At each day, the usual hazard that all returns before it have run through, weighted.

    The sum is piecewise linear in time: each return adds a slope at the begin of an interval of
    its curve, and takes it away at its end or at its next fault.
    """
    times, slopes = [np.zeros(0)], [np.zeros(0)]
    for low, high, rate in zip(EDGES[:-1], EDGES[1:], USUAL, strict=True):
        if low < span[0] or high > span[1]:
            continue
        begin, end = day + low, np.minimum(day + high, next_day)
        open_ = end > begin
        times += [begin[open_], end[open_]]
        slopes += [rate * weight[open_], -rate * weight[open_]]
    at, slope = np.concatenate(times), np.concatenate(slopes)
    order = np.argsort(at, kind="stable")
    at, slope = at[order], slope[order]
    rise = np.concatenate([[0.0], np.cumsum(slope)])
    base = np.concatenate([[0.0], np.cumsum(-slope * at)])
    place = np.searchsorted(at, day, side="right")
    return np.asarray(np.maximum(rise[place] * day + base[place], 0.0), np.float64)


def by_group(
    returns: Returns, group: Ints, expected: Floats, half_life: float, pseudo: float
) -> Floats:
    """``ratios`` over a month within each group; 1 for a group below 0, which is none."""
    found = np.ones(len(returns))
    for one in np.unique(group[group >= 0]).tolist():
        among = group == one
        found[among] = ratios(returns, among, expected, WHOLE, half_life, pseudo)
    return found


def by_node(returns: Returns, expected: Floats, half_life: float, pseudo: float) -> Floats:
    """The same of the node's own earlier returns, whose outcome is known by its next fault."""
    found = np.ones(len(returns))
    gap = np.minimum(returns.next_day - returns.day, LATE_DAYS)
    hoped = (cumulative(gap) * expected).tolist()
    hit = returns.failed(LATE_DAYS).tolist()
    day = returns.day.tolist()
    for rows in _rows_by_node(returns.node):
        seen = hope = 0.0
        for before, row in pairwise(rows):
            decay = 2.0 ** ((day[before] - day[row]) / half_life)
            seen, hope = (seen + hit[before]) * decay, (hope + hoped[before]) * decay
            found[row] = (seen + pseudo) / (hope + pseudo)
    return found


def _rows_by_node(node: Ints) -> Iterator[list[int]]:
    """The rows of each node that has more than one, by time."""
    order = np.argsort(node, kind="stable")
    edges = np.flatnonzero(np.diff(node[order])) + 1
    yield from (rows.tolist() for rows in np.split(order, edges) if len(rows) > 1)
