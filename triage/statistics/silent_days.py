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
