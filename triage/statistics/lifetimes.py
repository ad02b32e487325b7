"""Times until something fails, of which some did not fail yet: Kaplan-Meier and Weibull.

A time that was cut (the job was stopped by plan, the record ended) is censored: it lasted at
least so long. Left out, it would make everything look shorter-lived. Assumes that what cuts a
time has nothing to do with its failing.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from triage.domain.arrays import F64, I64, Flags
from triage.domain.wire import WireForm
from triage.statistics.estimate import LEVEL, OUTSIDE, Estimate

_MIN_EVENTS = 5
# Shapes searched for; what lies outside is said as the bound.
_SHAPES = (0.05, 50.0)


@dataclass(frozen=True, slots=True)
class Survival(WireForm):
    """A curve: at ``times`` the share that lived longer falls to ``alive``, in its band.

    The band is Greenwood's on the log-log scale, point by point. ``median`` has no value where
    less than half failed.
    """

    times: tuple[float, ...]
    alive: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    median: Estimate
    num_failed: int
    num_censored: int


def estimate_survival_curve(times: F64, failed: Flags, *, points: int = 0) -> Survival:
    """The product-limit curve of ``times`` (any order); ``failed`` False means censored.

    ``points`` thins a long curve to about this many steps for a picture, ends kept; 0 keeps all.
    """
    from scipy.stats import CensoredData, ecdf

    num_failed, num_cut = int(failed.sum()), int((~failed).sum())
    if not num_failed:
        none = Estimate(None, None, None, 0, "h", notes=("nothing failed: no curve",))
        return Survival((), (), (), (), none, 0, num_cut)
    curve = ecdf(CensoredData(uncensored=times[failed], right=times[~failed])).sf
    with warnings.catch_warnings():  # where nobody is left the band has no bound
        warnings.simplefilter("ignore", RuntimeWarning)
        band = curve.confidence_interval(LEVEL, method="log-log")
    steps = np.isin(curve.quantiles, times[failed])
    at, alive, low, high = (
        np.asarray(column[steps], np.float64)
        for column in (
            curve.quantiles,
            curve.probabilities,
            band.low.probabilities,
            band.high.probabilities,
        )
    )
    median = [_find_median_time(at, column) for column in (alive, low, high)]
    kept = _thin_indices(len(at), points)
    return Survival(
        tuple(at[kept].tolist()),
        tuple(alive[kept].tolist()),
        _convert_known(low[kept]),
        _convert_known(high[kept]),
        Estimate(median[0], median[1], median[2], num_failed, "h"),
        num_failed,
        num_cut,
    )


@dataclass(frozen=True, slots=True)
class WeibullShape(WireForm):
    """``shape`` below 1: what has just started fails most; above 1: things wear out.

    ``scale`` is the characteristic time (63 % failed). ``reading`` is ``infant mortality``,
    ``constant rate`` or ``wear-out`` by where the interval lies, None where nothing was fitted.
    """

    shape: Estimate
    scale: float | None
    reading: str | None


def fit_weibull_shape(times: F64, failed: Flags) -> WeibullShape:
    """Maximum likelihood with censoring, and the interval of the profile likelihood.

    scipy fits the shape but gives no interval, hence the profile here. Times of zero are taken
    for a millionth of the longest.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2

    num_failed = int(failed.sum())
    different = len(np.unique(times[failed]))
    if num_failed < _MIN_EVENTS or different < 2:
        note = (f"not fitted: {num_failed} failures at {different} times are too few",)
        return WeibullShape(Estimate(None, None, None, num_failed, "shape", notes=note), None, None)
    longest = float(times.max())
    logs = np.log(np.maximum(times / longest, 1e-6))
    profile = _Profile(logs, float(logs[failed].sum()), num_failed)
    best = float(brentq(profile.slope, *_SHAPES)) if profile.turns() else _SHAPES[1]
    floor = profile.height(best) - float(chi2.ppf(1 - OUTSIDE, 1)) / 2
    low = _find_crossing(profile, floor, _SHAPES[0], best)
    high = _find_crossing(profile, floor, _SHAPES[1], best)
    shape = Estimate(best, low, high, num_failed, "shape")
    scale = longest * math.exp(profile.log_scale(best))
    return WeibullShape(shape, scale, _interpret_shape(low, high))


@dataclass(frozen=True, slots=True)
class _Profile:
    """The log-likelihood of a shape, its scale already the best one; times on a log scale."""

    logs: F64
    failed_logs: float
    num_failed: int

    def log_scale(self, shape: float) -> float:
        return (float(np.log(np.exp(shape * self.logs).sum())) - math.log(self.num_failed)) / shape

    def height(self, shape: float) -> float:
        total = math.log(float(np.exp(shape * self.logs).sum()))
        d = self.num_failed
        return d * (math.log(shape) - total + math.log(d) - 1) + (shape - 1) * self.failed_logs

    def slope(self, shape: float) -> float:
        weight = np.exp(shape * self.logs)
        mean_log = float((weight * self.logs).sum() / weight.sum())
        return 1 / shape + self.failed_logs / self.num_failed - mean_log

    def turns(self) -> bool:
        return self.slope(_SHAPES[0]) > 0 > self.slope(_SHAPES[1])


def _find_crossing(profile: _Profile, floor: float, end: float, best: float) -> float | None:
    from scipy.optimize import brentq

    if profile.height(end) > floor or end == best:
        return None
    return float(brentq(lambda shape: profile.height(shape) - floor, end, best))


def _interpret_shape(low: float | None, high: float | None) -> str:
    if high is not None and high < 1:
        return "infant mortality"
    if low is not None and low > 1:
        return "wear-out"
    return "constant rate"


def _find_median_time(at: F64, alive: F64) -> float | None:
    reached = np.flatnonzero(alive <= 0.5)
    return float(at[reached[0]]) if len(reached) else None


def _thin_indices(length: int, points: int) -> I64:
    if points <= 1 or length <= points:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, points).round().astype(np.int64))


def _convert_known(values: F64) -> tuple[float | None, ...]:
    return tuple(float(value) if np.isfinite(value) else None for value in values)
