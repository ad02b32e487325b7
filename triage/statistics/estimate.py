"""An estimate: a figure with its interval and the number of events that it rests on.

A figure without the other two says nothing: three failures and three hundred can give the same
rate. Where no event was seen there is a bound and no estimate.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from triage.domain.wire import Share, WireForm

LEVEL: Final = 0.95
"""Two-sided confidence of every interval."""
OUTSIDE: Final = 1 - LEVEL
"""The share that lies outside."""
NOTHING_SEEN: Final = "no event was seen: only a bound can be given"
NO_EXPOSURE: Final = "no exposure is known: nothing can be estimated"


@dataclass(frozen=True, slots=True)
class Estimate(WireForm):
    """A figure in ``unit`` with a two-sided interval at ``level``.

    ``value`` is None where nothing was seen; ``low`` or ``high`` is None where the data set no
    such bound (a time between failures after no failure has no upper one). ``n`` is the number
    of events, or of samples, behind it. ``notes`` say what a reader must know to use it.
    """

    value: float | None
    low: float | None
    high: float | None
    n: Annotated[int, "Events, or samples, behind it."]
    unit: str
    level: Share = LEVEL
    notes: tuple[str, ...] = field(default=())

    def growing(self, change: Callable[[float], float], unit: str) -> "Estimate":
        """``change`` of the figure and its bounds, for a change that grows with its argument."""
        value, low, high = (_apply_change(change, x) for x in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high, unit=unit)

    def falling(self, change: Callable[[float], float], unit: str) -> "Estimate":
        """The same for a change that falls: the bounds trade places."""
        value, low, high = (_apply_change(change, x) for x in (self.value, self.low, self.high))
        return replace(self, value=value, low=high, high=low, unit=unit)


def _apply_change(change: Callable[[float], float], value: float | None) -> float | None:
    if value is None:
        return None
    changed = change(value)
    return changed if math.isfinite(changed) else None
