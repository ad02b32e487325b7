"""Whether events come at certain hours of the day: the Rayleigh test on a clock's face.

Assumes that jobs run round the clock, so that without a cause every hour is as likely. Bursts
count as many events here; where events come in clusters the p-value says too much.
Source: J. H. Zar, Biostatistical Analysis, circular distributions (its p-value holds to n = 5).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triage.domain.arrays import F64, I64
from triage.domain.wire import WireForm
from triage.statistics.estimate import LEVEL, Estimate

_MIN_EVENTS = 5


@dataclass(frozen=True, slots=True)
class HoursOfDay(WireForm):
    """``counts`` by hour (24), ``strength`` R in [0, 1], and the hour that events gather at.

    ``peak_hour`` may have a low above its high where the interval goes over midnight; it has
    none where no hour stands out. ``p_value`` is None for fewer than five events.
    """

    counts: tuple[int, ...]
    n: int
    strength: float | None
    peak_hour: Estimate
    p_value: float | None
    notes: tuple[str, ...] = ()


def measure_hours_of_day(hours: Sequence[float] | F64) -> HoursOfDay:
    """Test hours of the day, in [0, 24) and any order, for one time that they gather at."""
    hour = np.asarray(hours, dtype=np.float64) % 24
    counts = tuple(int(one) for one in np.bincount(hour.astype(np.int64) % 24, minlength=24))
    n = len(hour)
    if n < _MIN_EVENTS:
        none = Estimate(None, None, None, n, "hour")
        return HoursOfDay(counts, n, None, none, None, (f"not tested: {n} events are too few",))
    angle = hour * (math.pi / 12)
    x, y = float(np.cos(angle).mean()), float(np.sin(angle).mean())
    strength = math.hypot(x, y)
    peak = math.atan2(y, x) * 12 / math.pi % 24
    half = _compute_half_width_h(strength, n)
    low = None if half is None else (peak - half) % 24
    high = None if half is None else (peak + half) % 24
    return HoursOfDay(
        counts, n, strength, Estimate(peak, low, high, n, "hour"), _compute_p_value(strength, n)
    )


def _compute_p_value(strength: float, n: int) -> float:
    """exp(sqrt(1 + 4n + 4(n^2 - (nR)^2)) - (1 + 2n))."""
    inside = 1 + 4 * n + 4 * (n * n - (n * strength) ** 2)
    return min(1.0, math.exp(math.sqrt(max(inside, 0.0)) - (1 + 2 * n)))


def _compute_half_width_h(strength: float, n: int) -> float | None:
    """Half the interval of the mean direction (Zar's formulas), None where it has none."""
    from scipy.stats import chi2

    bound = float(chi2.ppf(LEVEL, 1))
    if strength <= math.sqrt(bound / (2 * n)):
        return None
    if strength <= 0.9:
        cosine = math.sqrt(2 * n * (2 * (n * strength) ** 2 - n * bound) / (4 * n - bound)) / (
            n * strength
        )
    else:
        inside = n * n - (n * n - (n * strength) ** 2) * math.exp(bound / n)
        cosine = math.sqrt(max(inside, 0.0)) / (n * strength)
    return math.acos(min(1.0, cosine)) * 12 / math.pi


# Days on which nothing was recorded: at size, a sign that the collector is broken.
#
# A job of 16,384 GPUs at the Llama 3 rate has 7.76 interruptions a day; a day without one is
# expected once in six years. So a silent day says more of the records than of the fleet.

# A silent day is named when its silence is less likely than this: once in three years of days.
_UNLIKELY = 1e-3


@dataclass(frozen=True, slots=True)
class SilentDays(WireForm):
    """``days`` are indices of days that were silent against all likelihood, ``likelihood`` that of
    the likeliest among them.
    """

    days: tuple[int, ...]
    likelihood: float | None


def compute_silence_probability(expected: float, factor: float = 1.0) -> float:
    """Probability of no event where ``expected`` are; ``factor`` is variance over mean."""
    if factor <= 1 + 1e-6:
        return float(np.exp(-expected))
    return float(factor ** (-expected / (factor - 1)))


def find_silent_days(counts: I64, exposures: F64, *, factor: float = 1.0) -> SilentDays:
    """Judge daily counts against one rate and each day's own exposure (any unit)."""
    total = float(exposures.sum())
    if not total or not counts.sum():
        return SilentDays((), None)
    expected = counts.sum() * exposures / total
    quiet = np.array([compute_silence_probability(float(one), factor) for one in expected])
    broken = np.flatnonzero((exposures > 0) & (counts == 0) & (quiet < _UNLIKELY))
    return SilentDays(
        tuple(int(day) for day in broken), float(quiet[broken].max()) if len(broken) else None
    )
