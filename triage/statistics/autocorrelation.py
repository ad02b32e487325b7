"""Noise that remembers itself: how far one sample tells the next, and what that costs.

Two series that each drift agree by chance more often than independent ones; n samples of them
are worth fewer.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triage.domain.arrays import F64
from triage.domain.wire import WireForm
from triage.errors import UsageError
from triage.statistics.estimate import LEVEL, Estimate

_MIN_PAIRS = 10
# A correlation nearer to 1 than this is not told from a walk.
_HIGHEST = 0.999


@dataclass(frozen=True, slots=True)
class Agreement(WireForm):
    """``correlation`` of two series with its interval; ``p_value`` of none at all.

    ``worth`` is the number of independent samples that they are worth.
    """

    correlation: Estimate
    p_value: float | None
    worth: float


def compute_lag_one_correlation(hours: F64, values: F64) -> float:
    """Correlation of each sample with the next, in [0, 0.999]; ``hours`` ascend.

    Pairs across a gap (half as long again as the usual step) do not count. Corrected for the
    bias of short series (Marriott and Pope, Biometrika 41, 1954).
    """
    n = len(values)
    if n < _MIN_PAIRS:
        return 0.0
    step = np.diff(hours)
    near = step <= 1.5 * float(np.median(step))
    centred = values - values.mean()
    spread = float((centred**2).mean())
    if not spread or not near.any():
        return 0.0
    rho = float((centred[1:] * centred[:-1])[near].mean()) / spread
    return min(max(rho + (1 + 4 * max(rho, 0.0)) / n, 0.0), _HIGHEST)


def measure_agreement(hours: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike) -> Agreement:
    """Pearson's correlation of two series sampled at the same ``hours``.

    The number of samples is what it is worth under autocorrelation, n (1 - ab) / (1 + ab)
    (Bartlett 1935), the interval is Fisher's. Needs ten samples.
    """
    from scipy.stats import norm

    time, x, y = (np.asarray(column, np.float64) for column in (hours, one, other))
    if not time.shape == x.shape == y.shape:
        raise UsageError("hours and both series are columns of one length")
    known = np.isfinite(time) & np.isfinite(x) & np.isfinite(y)
    order = np.argsort(time[known], kind="stable")
    time, x, y = (column[known][order] for column in (time, x, y))
    n = len(time)
    if n < _MIN_PAIRS or not x.std() or not y.std():
        note = (f"not compared: {n} samples that change are too few",)
        return Agreement(Estimate(None, None, None, n, "correlation", notes=note), None, 0.0)
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1 + 1e-12, 1 - 1e-12))
    both = compute_lag_one_correlation(time, x) * compute_lag_one_correlation(time, y)
    worth = max(4.0, n * (1 - both) / (1 + both))
    half = float(norm.ppf((1 + LEVEL) / 2)) / math.sqrt(worth - 3)
    low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    p_value = float(2 * norm.sf(abs(math.atanh(r)) * math.sqrt(worth - 3)))
    return Agreement(Estimate(r, low, high, n, "correlation"), p_value, worth)
