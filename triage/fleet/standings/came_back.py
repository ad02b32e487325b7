"""Whether faults come back to the same nodes more than chance has it.

Where each fault could as well have been any other node's, two faults that lie near each other
are of one node once in as many pairs as there are nodes. As long as the record shows no more than
that, what a node had before says nothing of what it will have, and nobody is called a lemon.
"""

from typing import Final

import numpy as np

from triage.fleet.record.columns import Flags, Floats
from triage.fleet.standings.history import SPAN, FaultHistory
from triage.fleet.standings.outliers import chance_of

__all__ = ["WITHIN_DAYS", "chance_of_as_many", "come_in_bursts"]

WITHIN_DAYS: Final = 56.0
SOON_DAYS: Final = 7.0
# So many standard errors, one-sided: 1 %.
SURE: Final = 2.33


def chance_of_as_many(history: FaultHistory, ordinary: Flags) -> float:
    """The chance of as many pairs of faults of one node within ``WITHIN_DAYS``.

    Pairs of nodes that come at random are Poisson in number, as far as they are rare. 1 where
    there is no pair.
    """
    kept = ordinary[history.node]
    day, node = history.day[kept], history.node[kept]
    num = int(ordinary.sum())
    if len(day) < 2 or num < 2:
        return 1.0
    pairs = pairs_within(day)
    same = pairs_within(np.sort(node * SPAN + day))
    if not same:
        return 1.0
    return float(chance_of(np.array([same], np.float64), np.array([pairs / num]))[0])


def come_in_bursts(history: FaultHistory, ordinary: Flags) -> bool:
    """Whether faults of one node follow each other sooner than a rate of its own explains.

    At a steady rate, however high, two of its faults within ``WITHIN_DAYS`` are as often within
    ``SOON_DAYS`` as any two of the fleet. Nodes are the units, so that one of many faults does
    not decide for all.
    """
    kept = ordinary[history.node]
    day, node = history.day[kept], history.node[kept]
    every = pairs_within(day)
    if not every:
        return False
    usual = pairs_within(day, SOON_DAYS) / every
    order = np.lexsort((day, node))
    keys = (node * SPAN + day)[order]
    soon = after_each(keys, SOON_DAYS)
    excess = np.bincount(node[order], soon - usual * after_each(keys, WITHIN_DAYS))
    spread = float(np.sqrt((excess**2).sum()))
    return spread > 0 and float(excess.sum()) >= SURE * spread


def pairs_within(day: Floats, days: float = WITHIN_DAYS) -> int:
    """Pairs of sorted times that lie within so many ``days`` of each other."""
    return int(after_each(day, days).sum())


def after_each(day: Floats, days: float) -> Floats:
    """How many of the sorted times follow each within so many ``days``."""
    after = np.searchsorted(day, day + days, side="right")
    return (after - np.arange(len(day)) - 1).astype(np.float64)
