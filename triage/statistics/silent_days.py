"""Days on which nothing was recorded: at size, a sign that the collector is broken.

A job of 16,384 GPUs at the Llama 3 rate has 7.76 interruptions a day; a day without one is
expected once in six years. So a silent day says more of the records than of the fleet.
"""

from dataclasses import dataclass

import numpy as np

from triage.domain.arrays import F64, I64
from triage.domain.wire import WireForm

# A silent day is named when its silence is less likely than this: once in three years of days.
_UNLIKELY = 1e-3
# Days with more interruptions than this are one cell of the histogram.
_MOST = 60


@dataclass(frozen=True, slots=True)
class SilentDays(WireForm):
    """Days by their number of interruptions, and those that are too quiet.

    ``observed[k]`` and ``expected[k]`` count days with k interruptions; the last holds all above
    too, at 60 at the latest. ``days`` are indices of days that were silent against all
    likelihood, and ``likelihood`` that of the likeliest among them. ``quiet_day`` is P(0) of the
    usual day.
    """

    observed: tuple[int, ...]
    expected: tuple[float, ...]
    days: tuple[int, ...]
    likelihood: float | None
    quiet_day: float | None


def compute_silence_probability(expected: float, factor: float = 1.0) -> float:
    """Probability of no event where ``expected`` are; ``factor`` is variance over mean."""
    if factor <= 1 + 1e-6:
        return float(np.exp(-expected))
    return float(factor ** (-expected / (factor - 1)))


def find_silent_days(counts: I64, exposures: F64, *, factor: float = 1.0) -> SilentDays:
    """Judge daily counts against one rate and each day's own exposure (any unit)."""
    from scipy.stats import nbinom, poisson

    total = float(exposures.sum())
    if not total or not counts.sum():
        return SilentDays((), (), (), None, None)
    mean = counts.sum() * exposures / total
    lived = exposures > 0
    most = min(int(counts.max()) + 1, _MOST)
    grid = np.arange(most + 1)[:, None]
    if factor > 1 + 1e-6:
        chances = nbinom.pmf(grid, np.maximum(mean[lived], 1e-12) / (factor - 1), 1 / factor)
    else:
        chances = poisson.pmf(grid, mean[lived])
    expected = chances.sum(axis=1)
    expected[-1] += max(0.0, float(lived.sum() - expected.sum()))
    quiet = np.array([compute_silence_probability(float(one), factor) for one in mean])
    broken = np.flatnonzero(lived & (counts == 0) & (quiet < _UNLIKELY))
    return SilentDays(
        tuple(int(one) for one in np.bincount(np.minimum(counts[lived], most), minlength=most + 1)),
        tuple(float(one) for one in expected),
        tuple(int(day) for day in broken),
        float(quiet[broken].max()) if len(broken) else None,
        compute_silence_probability(float(np.median(mean[lived])), factor),
    )
