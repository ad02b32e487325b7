"""The daily swing of a series (step time, inlet temperature).

Least squares of m + b t + A cos(2 pi t / 24 h - phi) on samples that may be uneven. Noise that
remembers itself makes swings of any length. So a swing is only found when it stands out twice:
against the noise with its autocorrelation, and in the Lomb-Scargle periodogram against the
neighbouring periods, which know nothing of the day. The 1-2 % that the Llama 3 paper saw at noon
is peak to peak: twice the amplitude A.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from triage.domain.arrays import F64
from triage.domain.wire import WireForm
from triage.statistics.estimate import LEVEL, Estimate

_MIN_PAIRS = 10
# A correlation nearer to 1 than this is not told from a walk.
_HIGHEST = 0.999


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


FALSE_ALARM: Final = 0.01
"""Share of series without a swing in which one may be found."""
MIN_SAMPLES: Final = 24
MIN_DAYS: Final = 3.0
# Neighbouring periods are looked at on each side of the day: so many, and no farther than
# half a cycle a day, so that neither the mean nor the half-day harmonic is among them.
NEIGHBOURS: Final = 20
REACH_PER_DAY: Final = 0.5
# What lies farther from the median (in robust standard deviations) is an outlier: a restart, a
# checkpoint. It is pulled in to here.
OUTLIER: Final = 6.0
DAY_H: Final = 24.0


@dataclass(frozen=True, slots=True)
class DailyCycle(WireForm):
    """``amplitude`` is A over the mean (half of peak to peak), ``peak_hour`` when it is highest.

    ``found`` is True when both p-values are below 1 %; a swing that was not found is not zero,
    and the amplitude's ``high`` bounds it. ``autocorrelation`` is of the noise from one sample
    to the next. All is None where the series is too short.
    """

    amplitude: Estimate
    peak_hour: Estimate
    mean: float | None
    found: bool | None
    p_value: float | None
    p_value_periodogram: float | None
    autocorrelation: float | None
    days: float
    notes: tuple[str, ...] = ()


def fit_daily_cycle(hours: npt.ArrayLike, values: npt.ArrayLike) -> DailyCycle:
    """Fit a series of ``values`` at ``hours`` (any order; hour 0 is a midnight).

    What is not a number is left out. At least 24 samples over three days are needed. Series of
    more than some ten thousand samples are better averaged to hours first.
    """
    from scipy.stats import f as fisher_f

    hour, value = _sort_known(hours, values)
    days = float(hour[-1] - hour[0]) / DAY_H if len(hour) else 0.0
    if len(hour) < MIN_SAMPLES or days < MIN_DAYS:
        return _make_too_short(len(hour), days)
    value = _clip_outliers(value)
    mean = float(value.mean())
    fit = _Fit.of(hour, value)
    if fit.noise <= 1e-12 * abs(mean) and fit.amplitude <= 1e-12 * abs(mean):
        return _make_too_short(len(hour), days, "the series does not change")
    rho = compute_lag_one_correlation(hour, fit.rest)
    power, around = _compute_powers(hour, fit)
    inflation = max(_compute_inflation(rho), float(around.mean()) / max(fit.noise**2, 1e-300))
    freedom = max(2.0, (len(hour) - 4) / inflation)
    ratio = fit.explained / 2 / max(fit.noise**2 * _compute_inflation(rho), 1e-300)
    p_value = float(fisher_f.sf(ratio, 2, freedom))
    against = power / max(float(around.mean()), 1e-300)
    p_periodogram = float(fisher_f.sf(against, 2, 2 * len(around)))
    error = fit.noise * math.sqrt(2 / len(hour) * inflation)
    return DailyCycle(
        _estimate_relative_amplitude(fit.amplitude, error, mean, len(hour)),
        _estimate_peak_hour(fit, error, len(hour)),
        mean,
        p_value < FALSE_ALARM and p_periodogram < FALSE_ALARM,
        p_value,
        p_periodogram,
        rho,
        days,
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    """The least-squares fit: its cosine and sine, what is left, and the trend taken out."""

    cosine: float
    sine: float
    rest: F64
    without_trend: F64
    explained: float
    noise: float

    @classmethod
    def of(cls, hour: F64, value: F64) -> "_Fit":
        angle = 2 * math.pi * hour / DAY_H
        trend = np.column_stack([np.ones(len(hour)), hour - hour.mean()])
        wave = np.column_stack([np.cos(angle), np.sin(angle)])
        both = np.hstack([trend, wave])
        factors = np.linalg.lstsq(both, value, rcond=None)[0]
        rest = value - both @ factors
        flat = value - trend @ np.linalg.lstsq(trend, value, rcond=None)[0]
        left = float(rest @ rest)
        return cls(
            float(factors[2]),
            float(factors[3]),
            rest,
            rest + wave @ factors[2:],
            max(0.0, float(flat @ flat) - left),
            math.sqrt(left / (len(hour) - 4)),
        )

    @property
    def amplitude(self) -> float:
        return math.hypot(self.cosine, self.sine)


def _compute_powers(hour: F64, fit: _Fit) -> tuple[float, F64]:
    """Lomb-Scargle power at the day, and around it of what is left when the day is taken out.

    In units where white noise of variance s^2 has the mean s^2 at every period.
    """
    from scipy.signal import lombscargle

    span = float(hour[-1] - hour[0])
    steps = max(2, min(NEIGHBOURS, int(REACH_PER_DAY * span / DAY_H)))
    away = np.arange(1, steps + 1) / span
    around = np.concatenate([1 / DAY_H - away, 1 / DAY_H + away])
    around = around[around > 0.5 / span]
    day = np.array([1 / DAY_H])
    power = lombscargle(hour, fit.without_trend, 2 * math.pi * day, floating_mean=True)
    others = lombscargle(hour, fit.rest, 2 * math.pi * around, floating_mean=True)
    return float(np.asarray(power).flat[0]), np.asarray(others, np.float64)


def _compute_inflation(rho: float) -> float:
    return (1 + rho) / (1 - rho)


def _sort_known(hours: npt.ArrayLike, values: npt.ArrayLike) -> tuple[F64, F64]:
    hour, value = np.asarray(hours, np.float64), np.asarray(values, np.float64)
    known = np.isfinite(hour) & np.isfinite(value)
    order = np.lexsort((value[known], hour[known]))
    return hour[known][order], value[known][order]


def _clip_outliers(value: F64) -> F64:
    middle = float(np.median(value))
    spread = 1.4826 * float(np.median(np.abs(value - middle)))
    if not spread:
        return value
    return np.clip(value, middle - OUTLIER * spread, middle + OUTLIER * spread)


def _estimate_relative_amplitude(amplitude: float, error: float, mean: float, n: int) -> Estimate:
    if not mean:
        return Estimate(None, None, None, n, "share", notes=("the mean is zero: no share of it",))
    low, high = max(0.0, amplitude - 1.96 * error), amplitude + 1.96 * error
    return Estimate(amplitude / abs(mean), low / abs(mean), high / abs(mean), n, "share", LEVEL)


def _estimate_peak_hour(fit: _Fit, error: float, n: int) -> Estimate:
    """The hour of the highest value; no interval where it could be any hour."""
    peak = math.atan2(fit.sine, fit.cosine) * 12 / math.pi % DAY_H
    half = 1.96 * error / fit.amplitude * 12 / math.pi if fit.amplitude else DAY_H
    if half >= DAY_H / 2:
        return Estimate(peak, None, None, n, "hour", notes=("it could be any hour",))
    return Estimate(peak, (peak - half) % DAY_H, (peak + half) % DAY_H, n, "hour")


def _make_too_short(n: int, days: float, why: str = "") -> DailyCycle:
    said = why or (
        f"not fitted: {n} samples over {days:.1f} days; "
        f"{MIN_SAMPLES} over {MIN_DAYS:g} days are needed"
    )
    none = Estimate(None, None, None, n, "share")
    hour = Estimate(None, None, None, n, "hour")
    return DailyCycle(none, hour, None, None, None, None, None, days, (said,))
