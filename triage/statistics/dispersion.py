"""Over-dispersion: whether events come in clusters.

Failures cluster after maintenance and power events. Then daily counts vary more than Poisson
counts would, and a Poisson interval promises too much. Bursts that last for weeks show in weeks
and months alone: the variance over mean of longer windows is larger than that of days, and what a
sum over the record varies by is that of the longest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triage.domain.arrays import F64, I64
from triage.domain.wire import WireForm

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


# Below one expected event a window, the chi-square law of the test is no longer a good one.
_MIN_EXPECTED = 1.0
_MIN_WINDOWS = 5
# Counts that are no clearer than this from Poisson keep the Poisson interval.
_CLEAR = 0.05
# Longer windows are asked too, each twice as long as the one before, as long as there are so many.
_MIN_SLOW_WINDOWS = 8
# All of them together raise a false alarm this often.
_CLEAR_SLOW = 0.01


@dataclass(frozen=True, slots=True)
class Dispersion(WireForm):
    """Variance over mean of the counts of windows: 1 for Poisson, above it in clusters.

    ``index`` and ``p_value`` are None where the windows are too few. ``window_days`` is how
    long a window became, so that each expects at least one event. ``slowest_index`` is the
    largest of longer windows where it is clearly above ``index``: 2, 4, 8, ... of these, as long
    as there are eight. ``clustered`` says that the intervals were widened, by the larger one.
    """

    index: float | None
    p_value: float | None
    n: int
    window_days: float | None
    clustered: bool
    notes: tuple[str, ...] = ()
    slowest_index: float | None = None

    @property
    def factor(self) -> float:
        """What the variance of a sum is to be multiplied with: 1 where nothing is clustered."""
        return max(self.day_factor, self.slowest_index or 1.0)

    @property
    def day_factor(self) -> float:
        """The same for the count of one window."""
        if self.index is None or self.p_value is None or self.p_value >= _CLEAR:
            return 1.0
        return max(1.0, self.index)


def measure_dispersion(
    counts: Sequence[int] | I64,
    exposures: Sequence[float] | F64 | None = None,
) -> Dispersion:
    """Test equal windows for clusters: Pearson's chi-square against one rate (Fisher's index).

    ``counts`` are events a window, in order of time; ``exposures`` are parallel, equal where
    not given. Windows without exposure and events are left out. Neighbours are merged until
    each expects one event.
    """
    number = np.asarray(counts, dtype=np.float64)
    exposed = np.ones(len(number)) if exposures is None else np.asarray(exposures, np.float64)
    seen = exposed > 0
    number, exposed = number[seen], exposed[seen]
    if not number.sum():
        return _make_untested("no event in any window")
    merged = max(1, int(np.ceil(_MIN_EXPECTED * len(number) / number.sum())))
    number, exposed = _sum_neighbours(number, merged), _sum_neighbours(exposed, merged)
    if len(number) < _MIN_WINDOWS:
        return _make_untested(f"only {len(number)} windows that expect an event")
    if not number.sum():  # all of them in the last, shorter window, which is left out
        return _make_untested("no event in any whole window")
    index = _index(number, exposed)
    p_value = _compute_chance(index, len(number))
    fast = index > 1 and p_value < _CLEAR
    slow = _find_slowest_index(number, exposed, index if fast else 1.0)
    clustered = fast or slow is not None
    days = float(merged)
    return Dispersion(index, p_value, len(number), days, clustered, slowest_index=slow)


def _make_untested(why: str) -> Dispersion:
    return Dispersion(None, None, 0, None, clustered=False, notes=(f"not tested: {why}",))


def _index(number: F64, exposed: F64) -> float:
    """Variance over mean against one rate."""
    expected = number.sum() * exposed / exposed.sum()
    return float(((number - expected) ** 2 / expected).sum()) / (len(number) - 1)


def _compute_chance(index: float, windows: int, usual: float = 1.0) -> float:
    """How likely counts that vary as ``usual`` reach the index."""
    from scipy.stats import chi2

    return float(chi2.sf(index * (windows - 1) / usual, windows - 1))


def _find_slowest_index(number: F64, exposed: F64, usual: float) -> float | None:
    """The largest index of windows that are 2, 4, 8, ... times as long, if clear of ``usual``."""
    found = []
    while len(number) >= 2 * _MIN_SLOW_WINDOWS:
        number, exposed = _sum_neighbours(number, 2), _sum_neighbours(exposed, 2)
        found.append((_index(number, exposed), len(number)))
    clear = [
        index
        for index, windows in found
        if index > usual and _compute_chance(index, windows, usual) < _CLEAR_SLOW / len(found)
    ]
    return max(clear, default=None)


def _sum_neighbours(values: F64, merged: int) -> F64:
    """Sums of ``merged`` neighbours; a rest that fills no window is left out."""
    whole = len(values) // merged * merged
    return np.asarray(values[:whole].reshape(-1, merged).sum(axis=1))
