"""Two periods, two generations, two groups of nodes: whether one rate is above the other.

Given k1 + k2 events in all, k1 is binomial with share T1 / (T1 + T2) where the rates are equal
(Przyborowski and Wilenski, Biometrika 31, 1940). Exact at any count.
"""

from dataclasses import dataclass

from triage.domain.wire import WireForm
from triage.errors import UsageError
from triage.statistics.estimate import LEVEL, Estimate, check_level


@dataclass(frozen=True, slots=True)
class Comparison(WireForm):
    """``ratio`` is the first rate over the second; ``p_value`` is two-sided.

    ``differs`` is True below 1 - level. None where there is nothing to compare.
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
    level: float = LEVEL,
) -> Comparison:
    """Compare ``first`` events in one exposure with ``second`` in another of the same unit.

    ``factor`` is that of clustered events (``Dispersion.factor``): so many times fewer
    independent events are behind the counts. Raises UsageError for values below zero.
    """
    outside = check_level(level)
    if min(first, second, first_exposure, second_exposure) < 0 or factor < 1:
        raise UsageError("counts and exposures are not below zero, a factor not below one")
    events = first + second
    if not events or not first_exposure or not second_exposure:
        none = Estimate(None, None, None, events, "ratio", level, ("nothing to compare",))
        return Comparison(first, second, first_exposure, second_exposure, none, None, None)
    share = first_exposure / (first_exposure + second_exposure)
    low, high = _compute_share_bounds(first, second, factor, outside)
    p_value = _compute_p_value(first, second, factor, share)
    scale = second_exposure / first_exposure
    ratio = Estimate(
        first / second * scale if second and first else None,
        low / (1 - low) * scale if low < 1 else None,
        high / (1 - high) * scale if high < 1 else None,
        events,
        "ratio",
        level,
    )
    differs = p_value < outside
    return Comparison(first, second, first_exposure, second_exposure, ratio, p_value, differs)


def _compute_share_bounds(
    first: int, second: int, factor: float, outside: float
) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of the first count's share of both."""
    from scipy.stats import beta

    one, other = first / factor, second / factor
    low = float(beta.ppf(outside / 2, one, other + 1)) if first else 0.0
    high = float(beta.ppf(1 - outside / 2, one + 1, other)) if second else 1.0
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
