"""Scales of charts: from figures to places, with few and round ticks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# A chart with more ticks than this is a ruler.
_MOST_TICKS: Final = 7
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MINUTE, _DAY, _YEAR = 1 / 60, 24.0, 8_760.0
_FINE: Final = (
    *(second / 3600 for second in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30)),
    *(minute * _MINUTE for minute in (1, 2, 5, 10, 20, 30)),
    *(1.0, 2.0, 3.0, 6.0, 12.0),
    *(day * _DAY for day in (1, 2, 4, 7, 14, 30, 60, 120)),
    *(year * _YEAR for year in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
"""Times in hours that clocks and calendars have names for."""
_COARSE: Final = (
    *(1 / 3600, 10 / 3600, _MINUTE, 10 * _MINUTE, 1.0, 6.0),
    *(_DAY, 7 * _DAY, 30 * _DAY, _YEAR, 10 * _YEAR, 100 * _YEAR),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Figures from ``low`` to ``high`` lie from ``start`` to ``end``; what is outside is cut.

    ``is_log`` scales need ``low`` above zero. ``end`` below ``start`` runs upwards.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def at(self, value: float) -> float:
        """The place of a figure, to a tenth."""
        low, high, here = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, here = math.log(low), math.log(high), math.log(here)
        part = 0.0 if high == low else (here - low) / (high - low)
        return round(self.start + part * (self.end - self.start), 1)


def make_linear_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """A scale from zero over ``values``, whose ends are ticks."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(0.0, *known), max(known)
    if high <= low:
        high = low + (abs(low) or 1.0)
    step = _step((high - low) / (_MOST_TICKS - 2))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(step * number, 12) for number in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], start, end, ticks)


def make_decade_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """A logarithmic scale over the ``values`` above zero; its ends are 1, 2 or 5 times a ten."""
    known = [value for value in values if 0 < value < math.inf] or [1.0, 10.0]
    low, high = _round_down(min(known)), _round_up(max(known))
    if high <= low:
        low, high = low / 2, high * 2
    tens = math.log10(high / low)
    fine = (1.0, 2.0, 5.0) if tens <= 2.5 else (1.0,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    skip = max(1, -(-(last - first) // _MOST_TICKS))
    ticks = tuple(
        factor * 10.0**power
        for power in range(first, last + 1)
        if (power - first) % skip == 0
        for factor in fine
        if low * 0.999 <= factor * 10.0**power <= high * 1.001
    )
    return Scale(low, high, start, end, ticks, is_log=True)


def make_time_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """A logarithmic scale of times in hours, from seconds to years."""
    known = [value for value in values if _FINE[0] <= value <= _FINE[-1]] or [1.0, 24.0]
    low = max(tick for tick in _FINE if tick <= min(known) * 1.001)
    high = min(tick for tick in _FINE if tick >= max(known) * 0.999)
    if high <= low:
        place = _FINE.index(low)
        low, high = _FINE[max(0, place - 1)], _FINE[min(len(_FINE) - 1, place + 1)]
    within = [tick for tick in _FINE if low <= tick <= high]
    if len(within) > _MOST_TICKS:
        within = [tick for tick in _COARSE if low <= tick <= high]
    return Scale(low, high, start, end, tuple(within), is_log=True)


def _step(least: float) -> float:
    ten = 10.0 ** math.floor(math.log10(least))
    return next((step * ten for step in _STEPS if step * ten >= least * 0.999), 10 * ten)


def _round_down(value: float) -> float:
    ten = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return max((step * ten for step in (1.0, 2.0, 5.0) if step * ten <= value * 1.001), default=ten)


def _round_up(value: float) -> float:
    ten = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return min(step * ten for step in (1.0, 2.0, 5.0, 10.0) if step * ten >= value * 0.999)
