"""Rates of events over an exposure with exact Poisson intervals, two of them compared, many tested.

Assumes that events come independently of each other at one rate; ``dispersion`` tests it and
widens. The interval is the one of Garwood (Biometrika 28, 1936): low = chi2(a/2, 2k) / 2T,
high = chi2(1 - a/2, 2k + 2) / 2T. Given k1 + k2 events in all, k1 is binomial with share
T1 / (T1 + T2) where two rates are equal (Przyborowski and Wilenski, Biometrika 31, 1940).
"""

from dataclasses import dataclass

import numpy as np

from triage.domain.arrays import F64
from triage.domain.wire import WireForm
from triage.statistics.estimate import (
    NO_EXPOSURE,
    NOTHING_SEEN,
    OUTSIDE,
    Estimate,
)

HOURS_PER_YEAR = 8_760.0


def estimate_rate(events: int, exposure: float, *, unit: str, per: float = 1.0) -> Estimate:
    """Events per ``per`` units of exposure; ``unit`` words it: ``per 1,000 node-days``.

    After no event the value is None and only ``high`` bounds the rate.
    """
    low, high = count_bounds(events)
    if not exposure:
        return Estimate(None, None, None, events, unit, notes=(NO_EXPOSURE,))
    scale = per / exposure
    if events == 0:
        return Estimate(None, 0.0, high * scale, 0, unit, notes=(NOTHING_SEEN,))
    return Estimate(events * scale, low * scale, high * scale, events, unit)


def estimate_mtti(events: int, exposure: float, *, unit: str = "h") -> Estimate:
    """Mean exposure between events, in the unit of the exposure.

    After no event there is a lower bound, never an infinite estimate.
    """
    low, high = count_bounds(events)
    if not exposure:
        return Estimate(None, None, None, events, unit, notes=(NO_EXPOSURE,))
    if events == 0:
        return Estimate(None, exposure / high, None, 0, unit, notes=(NOTHING_SEEN,))
    return Estimate(exposure / events, exposure / high, exposure / low, events, unit)


def count_bounds(events: int) -> tuple[float, float]:
    """The expected counts between which ``events`` is no surprise."""
    # Half of a chi-square quantile; that of scipy.stats checks its arguments for longer.
    from scipy.special import gammaincinv

    low = 0.0 if events == 0 else float(gammaincinv(events, OUTSIDE / 2))
    return low, float(gammaincinv(events + 1, 1 - OUTSIDE / 2))


@dataclass(frozen=True, slots=True)
class Comparison(WireForm):
    """``ratio`` is the first rate over the second; ``p_value`` is two-sided.

    ``differs`` is True below 5 %. None where there is nothing to compare.
    """

    first: int
    second: int
    first_exposure: float
    second_exposure: float
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
        return Comparison(first, second, first_exposure, second_exposure, none, None, None)
    share = first_exposure / (first_exposure + second_exposure)
    low, high = _compute_share_bounds(first, second, factor)
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
    return Comparison(first, second, first_exposure, second_exposure, ratio, p_value, differs)


def _compute_share_bounds(first: int, second: int, factor: float) -> tuple[float, float]:
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
    """p-values after Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995), in the same order.

    >>> adjust_p_values(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    num = len(p_values)
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * num / np.arange(1, num + 1)
    q_values = np.empty(num)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q_values
