"""Rates of events over an exposure with exact Poisson intervals, two of them compared, many tested.

Assumes that events come independently of each other at one rate; ``dispersion`` tests it, and a
factor widens. The interval is the one of Garwood (Biometrika 28, 1936): low = chi2(a/2, 2k) / 2T,
high = chi2(1 - a/2, 2k + 2) / 2T. Given k1 + k2 events in all, k1 is binomial with share
T1 / (T1 + T2) where two rates are equal (Przyborowski and Wilenski, Biometrika 31, 1940).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from triage.domain.arrays import F64
from triage.domain.wire import WireForm
from triage.statistics.estimate import (
    NO_EXPOSURE,
    NOTHING_SEEN,
    OUTSIDE,
    Estimate,
)


def estimate_rate(
    events: int, exposure: float, factor: float = 1.0, *, unit: str, per: float = 1.0
) -> Estimate:
    """Events per ``per`` units of exposure; ``unit`` words it: ``per 1,000 node-days``.

    After no event the value is None and only ``high`` bounds the rate. ``factor`` is that of
    clustered events (``Dispersion.factor``), for which the interval is wider.
    """
    if not exposure:
        return Estimate(None, None, None, events, unit, notes=(NO_EXPOSURE,))
    low, high = compute_wider_bounds(events, factor)
    scale, notes = per / exposure, _list_notes(events, factor)
    value = events * scale if events else None
    return Estimate(value, low * scale, high * scale, events, unit, notes=notes)


def estimate_mtti(
    events: int, exposure: float, factor: float = 1.0, *, unit: str = "h"
) -> Estimate:
    """Mean exposure between events, in the unit of the exposure; ``factor`` as for a rate.

    After no event there is a lower bound, never an infinite estimate.
    """
    if not exposure:
        return Estimate(None, None, None, events, unit, notes=(NO_EXPOSURE,))
    low, high = compute_wider_bounds(events, factor)
    most = exposure / low if events and low > 0 else None
    value = exposure / events if events else None
    notes = _list_notes(events, factor)
    return Estimate(value, exposure / high, most, events, unit, notes=notes)


def _list_notes(events: int, factor: float) -> tuple[str, ...]:
    words = f"events come in clusters (variance {factor:.1f} x mean): the interval is widened"
    return (*(() if events else (NOTHING_SEEN,)), *((words,) if factor > 1 else ()))


def count_bounds(events: int) -> tuple[float, float]:
    """The expected counts between which ``events`` is no surprise."""
    # Half of a chi-square quantile; that of scipy.stats checks its arguments for longer.
    from scipy.special import gammaincinv

    low = 0.0 if events == 0 else float(gammaincinv(events, OUTSIDE / 2))
    return low, float(gammaincinv(events + 1, 1 - OUTSIDE / 2))


@lru_cache(maxsize=4096)
def compute_wider_bounds(events: int, factor: float) -> tuple[float, float]:
    """Expected counts between which ``events`` is no surprise, at variance = factor x mean.

    A negative binomial of that variance takes the place of the Poisson law; at factor 1 the
    bounds are Garwood's.
    """
    low, high = count_bounds(events)
    if factor <= 1 + 1e-6:
        return low, high
    from scipy.optimize import brentq
    from scipy.stats import nbinom

    success = 1 / factor

    def at_least(mean: float) -> float:
        return float(nbinom.sf(events - 1, mean / (factor - 1), success)) - OUTSIDE / 2

    def at_most(mean: float) -> float:
        return float(nbinom.cdf(events, mean / (factor - 1), success)) - OUTSIDE / 2

    reach = high + 20 * factor * (1 + events**0.5)
    # In the widest clusters even a mean of so many gives them too seldom: the bound lies at no
    # mean below, and Garwood's stands.
    found = events > 0 and at_least(events) > 0
    wide_low = float(brentq(at_least, 1e-9, events)) if found else low
    return min(wide_low, low), max(float(brentq(at_most, max(events, 1e-9), reach)), high)


@dataclass(frozen=True, slots=True)
class Comparison(WireForm):
    """``ratio`` is the first rate over the second; ``p_value`` is two-sided.

    ``differs`` is True below 5 %. None where there is nothing to compare.
    """

    first: int
    second: int
    ratio: Estimate
    p_value: float | None
    differs: bool | None


def compare_rates(
    first: int,
    first_exposure: float,
    second: int,
    second_exposure: float,
    *,
    factor: float = 1.0,
) -> Comparison:
    """Compare ``first`` events in one exposure with ``second`` in another of the same unit.

    ``factor`` is that of clustered events (``Dispersion.factor``): so many times fewer
    independent events are behind the counts.
    """
    events = first + second
    if not events or not first_exposure or not second_exposure:
        none = Estimate(None, None, None, events, "ratio", notes=("nothing to compare",))
        return Comparison(first, second, none, None, None)
    share = first_exposure / (first_exposure + second_exposure)
    low, high = compute_share_bounds(first, second, factor)
    p_value = _compute_p_value(first, second, factor, share)
    scale = second_exposure / first_exposure
    ratio = Estimate(
        first / second * scale if second and first else None,
        low / (1 - low) * scale if low < 1 else None,
        high / (1 - high) * scale if high < 1 else None,
        events,
        "ratio",
    )
    differs = p_value < OUTSIDE
    return Comparison(first, second, ratio, p_value, differs)


def compute_share_bounds(first: int, second: int, factor: float = 1.0) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of the first count's share of both."""
    from scipy.stats import beta

    one, other = first / factor, second / factor
    low = float(beta.ppf(OUTSIDE / 2, one, other + 1)) if first else 0.0
    high = float(beta.ppf(1 - OUTSIDE / 2, one + 1, other)) if second else 1.0
    return low, high


def _compute_p_value(first: int, second: int, factor: float, share: float) -> float:
    """How likely counts as far apart are where ``share`` of the events belongs to the first."""
    from scipy.stats import beta, binomtest

    if factor <= 1:
        return float(binomtest(first, first + second, share).pvalue)
    one, other = first / factor, second / factor
    below = float(beta.sf(share, one + 1, other)) if second else 1.0
    above = float(beta.cdf(share, one, other + 1)) if first else 1.0
    return min(1.0, 2 * min(below, above))


def adjust_p_values(p_values: F64) -> F64:
    """p-values after Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995), in the same order."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p_values), np.float64)
