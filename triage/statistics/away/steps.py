"""Nodes away at once, as a step function of time: how long 0, 1, 2, ... of them were.

Weighted by time and not by events: of 30 nodes that leave together for ten minutes, the share
of 30 is ten minutes. Outages of one node do not overlap (``record.faults`` merges them).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from triage.domain.arrays import F64

# Pieces of the record over which the number away is averaged, for its correlation in time.
_MOST_PIECES = 1024
_FEWEST_PIECES = 64
_PIECES_A_DAY = 4


@dataclass(frozen=True)
class Away:
    """Outages of a record of ``days``: ``start`` and ``end`` are days since its begin, by start.

    ``open_end`` marks those that had not ended. All figures are of the time of the record.
    """

    start: F64
    end: F64
    days: float

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def share(self) -> F64:
        """``share[k]`` is the share of the time in which k nodes were away; sums to 1."""
        at = np.concatenate([self.start, self.end])
        step = np.repeat([1, -1], len(self.start))
        order = np.argsort(at, kind="stable")
        edges = np.concatenate([[0.0], at[order], [self.days]])
        number = np.concatenate([[0], np.cumsum(step[order])])
        lasted = np.bincount(number, weights=np.diff(edges))
        return np.asarray(lasted / lasted.sum(), np.float64)

    @cached_property
    def mean(self) -> float:
        """Nodes away on average."""
        return float(self.share @ np.arange(len(self.share)))

    @cached_property
    def variance(self) -> float:
        """Of the number away over the time of the record."""
        return float(self.share @ (np.arange(len(self.share)) - self.mean) ** 2)

    @cached_property
    def long_run(self) -> float:
        """Variance of the mean of a long record, times its days: node² x days.

        From the autocorrelation of averages over pieces of the record, summed as long as pairs
        of lags are positive and fall (Geyer, Statistical Science 7, 1992).
        """
        pieces = int(np.clip(self.days * _PIECES_A_DAY, _FEWEST_PIECES, _MOST_PIECES))
        series = self.averages(pieces)
        return _estimate_long_run_variance(series) * self.days / pieces

    @property
    def worth(self) -> float:
        """How many independent looks at the fleet the record is worth."""
        return self.days * self.variance / self.long_run if self.long_run else np.inf

    def averages(self, pieces: int) -> F64:
        """The mean number away in equal pieces of the record, in order; shape (pieces,)."""
        edges = np.linspace(0.0, self.days, pieces + 1)
        gone = sum_time_since(self.start, edges) - sum_time_since(self.end, edges)
        return np.asarray(np.diff(gone) / np.diff(edges), np.float64)

    def quantile(self, confidence: float) -> int:
        """The fewest spares that sufficed for so large a share of the time."""
        return int(np.searchsorted(np.cumsum(self.share), confidence - 1e-9))

    def covered(self, spares: int) -> float:
        """The share of the time in which so many spares sufficed."""
        return min(float(self.share[: spares + 1].sum()), 1.0)  # shares of time are rounded


def cut_outages(start_day: F64, end_day: F64, days: float) -> Away:
    """Outages as an :class:`Away`, cut to the record; those outside it are left out."""
    within = (start_day < days) & (end_day > 0)
    start, end = np.clip(start_day[within], 0.0, days), np.clip(end_day[within], 0.0, days)
    order = np.argsort(start, kind="stable")
    return Away(start[order], end[order], float(days))


def cut_period(whole: Away, begin: float, end: float) -> Away:
    """What was away between two days of a record."""
    within = (whole.start < end) & (whole.end > begin)
    return cut_outages(whole.start[within] - begin, whole.end[within] - begin, end - begin)


def _estimate_long_run_variance(series: F64) -> float:
    """Sum of autocovariances of a series over all lags, by Geyer's monotone sequence."""
    number = len(series)
    centred = series - series.mean()
    power = np.abs(np.fft.rfft(centred, 2 * number)) ** 2
    covariance = np.fft.irfft(power)[:number] / number
    pairs = covariance[: number // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: ends[0]] if len(ends) else pairs)
    return float(max(covariance[0], 2 * kept.sum() - covariance[0]))


def sum_time_since(at: F64, edges: F64, weight: F64 | float = 1.0) -> F64:
    """Time from each event to the edge, summed with its weight over those that came before it:
    O((events + edges) log events).
    """
    order = np.argsort(at, kind="stable")
    before = np.searchsorted(at[order], edges)
    weights = np.broadcast_to(weight, at.shape)[order]
    heavy = np.concatenate([[0.0], np.cumsum(weights)])
    moved = np.concatenate([[0.0], np.cumsum(weights * at[order])])
    return np.asarray(heavy[before] * edges - moved[before], np.float64)
