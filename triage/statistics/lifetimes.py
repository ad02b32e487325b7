"""Times until something fails, of which some did not fail yet: Kaplan-Meier.

A time that was cut (the job was stopped by plan, the record ended) is censored: it lasted at
least so long. Left out, it would make everything look shorter-lived. Assumes that what cuts a
time has nothing to do with its failing.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from triage.domain.arrays import F64, I64, Flags
from triage.domain.wire import WireForm
from triage.statistics.estimate import LEVEL, Estimate


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


def _find_median_time(at: F64, alive: F64) -> float | None:
    reached = np.flatnonzero(alive <= 0.5)
    return float(at[reached[0]]) if len(reached) else None


def _thin_indices(length: int, points: int) -> I64:
    if points <= 1 or length <= points:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, points).round().astype(np.int64))


def _convert_known(values: F64) -> tuple[float | None, ...]:
    return tuple(float(value) if np.isfinite(value) else None for value in values)
