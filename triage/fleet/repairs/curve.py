"""The curve of faults after a return: high in the first hour, falling over a month.

Assumes that what differs from return to return is how high the curve is, and not its shape. The
usual curve is that of 400 servers that train language models (InfiniteHBD trace, 525 returns):
33 % failed again within 7 days and 45 % within 30.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.columns import Floats

EARLY_DAYS: Final = 7.0
LATE_DAYS: Final = 30.0
EDGES: Final = (0.0, 0.05, 0.25, 1.0, 3.0, 7.0, 14.0, 30.0)
"""Days after a return between which the hazard is constant."""
USUAL: Final = (1.4, 0.3, 0.105, 0.048, 0.024, 0.012, 0.007)
"""Faults a day in each of them, where nothing else is known."""
# A record's own curve takes over as its faults in an interval exceed these.
_PRIOR_FAULTS: Final = 5.0
_SUREST: Final = 0.9999


def accumulate_hazard(days: Floats, per_day: tuple[float, ...] = USUAL) -> Floats:
    """Expected faults up to so many days after a return; flat after 30."""
    reach = np.clip(np.asarray(days, np.float64)[..., None] - EDGES[:-1], 0, np.diff(EDGES))
    return np.asarray(reach @ np.array(per_day), np.float64)


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves of returns: ``early`` faults expected in 7 days, ``late`` in 7 to 30, one each.

    ``after`` are faults a day from then on: those of any node.
    """

    early: Floats
    late: Floats
    after: float
    per_day: tuple[float, ...] = USUAL

    @classmethod
    def through(
        cls,
        within_7: Floats,
        within_30: Floats,
        after: float,
        per_day: tuple[float, ...] = USUAL,
    ) -> "Curves":
        """The curves that give these chances at the moment of return."""
        early = -np.log1p(-np.minimum(within_7, _SUREST))
        late = -np.log1p(-np.minimum(within_30, _SUREST)) - early
        return cls(early, np.maximum(late, 0.0), after, per_day)

    def expected(self, days: Floats) -> Floats:
        """Faults expected from the return until then; ``days`` has the curves as its rows."""
        at = accumulate_hazard(days, self.per_day)
        week, month = accumulate_hazard(np.array([EARLY_DAYS, LATE_DAYS]), self.per_day)
        early = self.early[:, None] * np.minimum(at, week) / week
        late = self.late[:, None] * np.maximum(at - week, 0.0) / (month - week)
        after = self.after * np.maximum(np.asarray(days) - LATE_DAYS, 0.0)
        return np.asarray(early + late + after, np.float64)

    def chance(self, since: Floats, days: float) -> Floats:
        """The chance of a fault within ``days``, after ``since`` days without one; (n, m)."""
        more = self.expected(since + days) - self.expected(since)
        return np.asarray(-np.expm1(-more), np.float64)


def own_curve(gap: Floats, watched: Floats) -> tuple[float, ...]:
    """The curve of a record: ``gap`` is days to the next fault, ``watched`` for how long."""
    low, high = np.array(EDGES[:-1]), np.array(EDGES[1:])
    reach = np.clip(np.minimum(gap, watched)[:, None] - low, 0, high - low).sum(axis=0)
    faults = np.histogram(gap[gap <= watched], EDGES)[0]
    found = (faults + _PRIOR_FAULTS) / (reach + _PRIOR_FAULTS / np.array(USUAL))
    return tuple(float(rate) for rate in found)
