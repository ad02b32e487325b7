"""Who stands out: more blame than chance and a common rate explain, over many at once.

Assumes that blame comes as a Poisson process at one rate per exposure. For whole counts the
chance of as much or more is exact. For shares of blame it is an upper bound of the kind that
matters: a sum of shares spreads less about its mean than a count does, so it is the safe side.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.columns import Flags, Floats
from triage.statistics.false_discovery import adjust_p_values

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


def find_outliers(blame: Floats, exposure: Floats, *, false_discovery_rate: float) -> Excess:
    """The members whose blame stands out.

    Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995) over all members with exposure. Their
    own events would raise the rate that they are held against, so whoever was found is left out
    of it, and all are tested again until nobody more is found.
    """
    tested = exposure > 0
    found = np.zeros(len(blame), dtype=bool)
    excess = _test_members(blame, exposure, tested, found, false_discovery_rate)
    for _ in range(_MAX_ROUNDS):
        if not (excess.found & ~found).any():
            break
        found = found | excess.found
        excess = _test_members(blame, exposure, tested, found, false_discovery_rate)
    return excess


def _test_members(
    blame: Floats, exposure: Floats, tested: Flags, without: Flags, level: float
) -> Excess:
    """All members held against the rate of those not in ``without``."""
    rest = tested & ~without
    time = float(exposure[rest].sum()) or float(exposure[tested].sum())
    rate = max(float(blame[rest].sum()), _UNSEEN) / time if time else 0.0
    expected = rate * exposure
    p = np.ones(len(blame))
    p[tested] = compute_tail_chance(blame[tested], expected[tested])
    q = np.ones(len(blame))
    q[tested] = adjust_p_values(p[tested])
    return Excess(rate, expected, p, q, tested & (q <= level))


def compute_tail_chance(blame: Floats, expected: Floats) -> Floats:
    """P[X >= blame] of a Poisson count; between whole numbers its continuous extension."""
    from scipy.special import gammainc

    some = blame > 0
    p = np.ones(len(blame))
    p[some] = gammainc(blame[some], expected[some])
    return p
