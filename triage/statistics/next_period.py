"""How many events the next period of the same length will see, and whether their rate drifts.

The interval of a rate says where the rate of *this* period lies. The next one differs by three
things more: its own chance, bursts that last longer than a day (the variance over mean of weeks
and months is larger than that of days), and a rate that moves from one period to the next. The
last cannot be learnt from one period. In public records of real clusters (LANL 1996-2005) the
logarithm of the rate moves by about ``DRIFT`` from quarter to quarter.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64
from triage.domain.wire import WireForm
from triage.statistics.dispersion import measure_dispersion
from triage.statistics.estimate import LEVEL, NOTHING_SEEN, OUTSIDE, Estimate

DRIFT: Final = 0.4
"""Standard deviation of the logarithm of the ratio of two periods' true rates."""
_PIECES: Final = 64
_MIN_EVENTS: Final = 10


@dataclass(frozen=True, slots=True)
class Drift(WireForm):
    """The later half of a record beside the earlier: ``ratio`` of their rates.

    ``way`` is ``rose``, ``fell`` or ``steady``; None where the events are too few to say.
    """

    way: str | None
    ratio: Estimate
    p_value: float | None


def compute_ratio_bounds(effective: float) -> tuple[float, float]:
    """Bounds of a later period's mean over this one's, where both are worth ``effective`` events.

    The ratio of two gamma variates (Fisher's F), as of two Poisson counts around one rate that
    itself moves by ``DRIFT``.
    """
    from scipy.stats import f as fisher

    freedom = 4 / (2 / max(effective, 1e-9) + DRIFT**2)
    low, high = fisher.ppf([OUTSIDE / 2, 1 - OUTSIDE / 2], freedom, freedom)
    return float(low), float(high)


def estimate_next_events(at_days: F64, days: float, *, unit: str = "events") -> Estimate:
    """Events in the ``days`` after a record of as many, from the times of those in it.

    Contains the count of the next period in 95 of 100 such periods. After no event there is
    only a bound.
    """
    counts = _count_by_piece(at_days, days)
    events = int(counts.sum())
    spread = measure_dispersion(counts).factor
    if not events:
        high = math.ceil(-math.log(OUTSIDE / 2) * 2)
        return Estimate(None, 0.0, float(high), 0, unit, notes=(NOTHING_SEEN,))
    low, high_ratio = compute_ratio_bounds(events / spread)
    notes = (f"bursts: variance {spread:.1f} x mean",) if spread > 1 else ()
    return Estimate(
        float(events),
        float(math.floor(events * low)),
        float(math.ceil(events * high_ratio)),
        events,
        unit,
        notes=notes,
    )


def judge_drift(at_days: F64, days: float) -> Drift:
    """Whether the later half differs from the earlier beyond bursts, by a normal test of logs."""
    from scipy.stats import norm

    counts = _count_by_piece(at_days, days)
    first, second = (int(part.sum()) for part in np.split(counts, 2))
    events = first + second
    if min(first, second) < 1 or events < _MIN_EVENTS:
        why = f"{events} events are too few to tell a drift"
        return Drift(None, Estimate(None, None, None, events, "ratio", notes=(why,)), None)
    spread = _estimate_detrended_dispersion(counts)
    ratio = second / first
    error = math.sqrt(spread * (1 / first + 1 / second))
    reach = float(norm.ppf((1 + LEVEL) / 2)) * error
    p_value = float(2 * norm.sf(abs(math.log(ratio)) / error))
    way = "steady" if p_value >= OUTSIDE else "rose" if ratio > 1 else "fell"
    low, high = ratio * math.exp(-reach), ratio * math.exp(reach)
    return Drift(way, Estimate(ratio, low, high, events, "ratio"), p_value)


def _estimate_detrended_dispersion(counts: I64) -> float:
    """Variance over mean by differences of neighbours (Allan's), which a trend hardly moves."""
    longer = counts.reshape(-1, 2).sum(axis=1)
    return max(1.0, float((np.diff(longer) ** 2).mean() / (2 * longer.mean())))


def _count_by_piece(at_days: F64, days: float) -> I64:
    """Events in 64 equal pieces of the record."""
    return np.histogram(at_days, np.linspace(0.0, days, _PIECES + 1))[0].astype(np.int64)
