"""Rates of events over an exposure, with exact Poisson intervals.

Assumes that events come independently of each other at one rate; ``dispersion`` tests it and
widens. The interval is the one of Garwood (Biometrika 28, 1936): low = chi2(a/2, 2k) / 2T,
high = chi2(1 - a/2, 2k + 2) / 2T.
"""

import math

from triage.errors import UsageError
from triage.statistics.estimate import (
    LEVEL,
    NO_EXPOSURE,
    NOTHING_SEEN,
    Estimate,
    check_level,
)

HOURS_PER_YEAR = 8_760.0


def estimate_rate(
    events: int, exposure: float, *, unit: str, per: float = 1.0, level: float = LEVEL
) -> Estimate:
    """Events per ``per`` units of exposure; ``unit`` words it: ``per 1,000 node-days``.

    After no event the value is None and only ``high`` bounds the rate. Raises UsageError for a
    count or an exposure below zero.
    """
    low, high = count_bounds(events, level=level)
    if not _is_usable_exposure(exposure):
        return Estimate(None, None, None, events, unit, level, (NO_EXPOSURE,))
    scale = per / exposure
    if events == 0:
        return Estimate(None, 0.0, high * scale, 0, unit, level, (NOTHING_SEEN,))
    return Estimate(events * scale, low * scale, high * scale, events, unit, level)


def estimate_mtti(
    events: int, exposure: float, *, unit: str = "h", level: float = LEVEL
) -> Estimate:
    """Mean exposure between events, in the unit of the exposure.

    After no event there is a lower bound, never an infinite estimate.
    """
    low, high = count_bounds(events, level=level)
    if not _is_usable_exposure(exposure):
        return Estimate(None, None, None, events, unit, level, (NO_EXPOSURE,))
    if events == 0:
        return Estimate(None, exposure / high, None, 0, unit, level, (NOTHING_SEEN,))
    return Estimate(exposure / events, exposure / high, exposure / low, events, unit, level)


def count_bounds(events: int, *, level: float = LEVEL) -> tuple[float, float]:
    """The expected counts between which ``events`` is no surprise."""
    # Half of a chi-square quantile; that of scipy.stats checks its arguments for longer.
    from scipy.special import gammaincinv

    outside = check_level(level)
    if events < 0:
        raise UsageError(f"a number of events cannot be {events}")
    low = 0.0 if events == 0 else float(gammaincinv(events, outside / 2))
    return low, float(gammaincinv(events + 1, 1 - outside / 2))


def _is_usable_exposure(exposure: float) -> bool:
    if exposure < 0 or math.isnan(exposure):
        raise UsageError(f"an exposure cannot be {exposure}")
    return exposure > 0
