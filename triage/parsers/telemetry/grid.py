"""What an incident keeps of a file of telemetry: every series by stretches of time.

A stretch is 30 s wide, or a power of two of that where a file holds too many series or too
long a time; it keeps the mean of a gauge, the largest of a counter and all bits of a mask. So
a file of any length comes down to a bounded table, and none of it depends on the stop, which
is not known while files are read.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from triage.parsers.telemetry.metrics import COUNTERS, Metric
from triage.parsers.telemetry.samples import Grid, Samples, SeriesKey

_Cells = npt.NDArray[np.float32]
_Counts = npt.NDArray[np.int32]
_Array = Any

BASE_NS: Final = 30_000_000_000
# 24 h in stretches of 30 s.
MOST_STRETCHES: Final = 2880
# Cells of one file: 128 MiB while it is read, half of that afterwards.
_MOST_CELLS: Final = 1 << 24
# Samples of one batch further from its middle than this carry a wrong time.
_FAR_NS: Final = 84 * 3600 * 1_000_000_000
# No more than a week before the newest sample is kept.
_MOST_SPAN_NS: Final = 2 * _FAR_NS

_MEAN: Final = 0
_LARGEST: Final = 1
_BITS: Final = 2


def _choose_merge_way(metric: Metric) -> int:
    if metric is Metric.THROTTLE_REASONS:
        return _BITS
    return _LARGEST if metric in COUNTERS or metric is Metric.LAST_XID else _MEAN


class Gridded:
    """Makes a :class:`Grid` of batches, in the order of their file."""

    def __init__(self, most_cells: int = _MOST_CELLS) -> None:
        self.most_cells = most_cells
        self.series: Sequence[SeriesKey] = ()
        self.way = np.empty(0, np.int8)
        self.value: npt.NDArray[np.float64] | _Cells = np.empty((0, 0), np.float32)
        self.count: _Counts = np.empty((0, 0), np.int32)
        self.start_ns = 0
        self.end_ns = 0
        self.width_ns = BASE_NS
        self.far = 0
        """Samples that were left out for a time far from that of the others."""

    def add(self, batch: Samples) -> None:
        """Take one batch in; what it holds is not needed afterwards."""
        if not len(batch):
            return
        middle = int(np.partition(batch.at_ns, len(batch) // 2)[len(batch) // 2])
        keep = np.abs(batch.at_ns - middle) <= _FAR_NS
        self.far += int(len(keep) - keep.sum())
        first, last = int(batch.at_ns[keep].min()), int(batch.at_ns[keep].max())
        if len(batch.series) > len(self.way):
            known = [_choose_merge_way(key.metric) for key in batch.series[len(self.way) :]]
            self.way = np.concatenate([self.way, np.array(known, np.int8)])
        self.series = batch.series
        self.make_room(first, last)
        keep &= batch.at_ns >= self.start_ns
        stretch = (batch.at_ns[keep] - self.start_ns) // self.width_ns
        self.merge(batch.series_index[keep], stretch, batch.value[keep])

    def merge(self, rows: _Array, columns: _Array, samples: _Array) -> None:
        """Add samples to their cells, each by the way of its row."""
        flat, cell = np.unique(rows * self.count.shape[1] + columns, return_inverse=True)
        value, count = self.value.reshape(-1), self.count.reshape(-1)
        way = self.way[flat // self.count.shape[1]]
        num_before, num_new = count[flat], np.bincount(cell)
        # Hostile numbers have no room in a cell, nor as a mask.
        with np.errstate(invalid="ignore", over="ignore"):
            had = np.where(num_before == 0, np.nan, value[flat].astype(np.float64))
            total = np.nan_to_num(had) * num_before + np.bincount(cell, samples)
            largest = had.copy()
            np.fmax.at(largest, cell, samples)
            bits = np.nan_to_num(had).astype(np.int64)
            np.bitwise_or.at(bits, cell, samples.astype(np.int64))
            value[flat] = np.select(
                [way == _MEAN, way == _LARGEST], [total / (num_before + num_new), largest], bits
            )
        count[flat] = num_before + num_new

    def make_room(self, first_ns: int, last_ns: int) -> None:
        """Room for all series between these times, coarser where there would be too much."""
        if not self.count.size:
            self.start_ns = self.end_ns = first_ns // self.width_ns * self.width_ns
        end = max(self.end_ns, last_ns + 1)
        start = max(min(self.start_ns, first_ns), end - _MOST_SPAN_NS)
        rows = len(self.way)
        width = self.width_ns
        while _count_stretches(start, end, width) > min(
            MOST_STRETCHES, max(self.most_cells // rows, 1)
        ):
            width *= 2
        while self.width_ns < width:
            self.halve()
        start, end = start // width * width, -(-end // width) * width
        have_rows, have = self.count.shape
        fits = self.start_ns <= start and end <= self.start_ns + have * width
        self.end_ns = end
        if rows <= have_rows and fits and self.start_ns > end - _MOST_SPAN_NS - width:
            return
        # Files are longer than a batch: room for twice as much, as far as that is allowed.
        wanted = (end - start) // width
        spare = min(2 * wanted, MOST_STRETCHES + 2, max(self.most_cells // rows, wanted))
        self.move(rows, start, max(spare, wanted))

    def move(self, rows: int, start_ns: int, columns: int) -> None:
        """The same cells in a table that begins at ``start_ns``."""
        value = np.full((rows, columns), np.nan, np.float32)
        count = np.zeros((rows, columns), np.int32)
        have_rows, have = self.count.shape
        shift = (self.start_ns - start_ns) // self.width_ns
        begin, stop = max(0, -shift), min(have, columns - shift)
        if stop > begin:
            value[:have_rows, begin + shift : stop + shift] = self.value[:, begin:stop]
            count[:have_rows, begin + shift : stop + shift] = self.count[:, begin:stop]
        self.value, self.count, self.start_ns = value, count, start_ns

    def halve(self) -> None:
        """Stretches of twice the width."""
        odd = (self.start_ns // self.width_ns) % 2
        self.start_ns -= odd * self.width_ns
        rows, have = self.count.shape
        self.width_ns *= 2
        if not self.count.size:
            return
        padding = ((0, 0), (odd, (have + odd) % 2))
        value = np.pad(self.value, padding, constant_values=np.nan)
        count = np.pad(self.count, padding)
        self.value = _merge_neighbours(value, count, self.way[:rows])
        self.count = count.reshape(rows, -1, 2).sum(axis=2, dtype=np.int32)

    def grid(self) -> Grid | None:
        """The table as it stands; None where no sample came."""
        used = np.flatnonzero(self.count.any(axis=0)).tolist()
        if not used:
            return None
        first, last = used[0], used[-1] + 1
        start_ns = self.start_ns + first * self.width_ns
        rows = self.count.shape[0]
        value = np.ascontiguousarray(self.value[:, first:last], np.float32)
        return Grid(tuple(self.series[:rows]), start_ns, self.width_ns, value)


def _count_stretches(start_ns: int, end_ns: int, width_ns: int) -> int:
    return -(-end_ns // width_ns) - start_ns // width_ns


def _merge_neighbours(value: Any, count: _Counts | None, way: npt.NDArray[np.int8]) -> _Cells:
    """Each two neighbours of ``value`` as one; an even number of columns.

    A mean counts as often as samples went into it; without ``count``, both the same.
    """
    rows, columns = value.shape
    two = value.reshape(rows, columns // 2, 2)
    left, right = two[:, :, 0], two[:, :, 1]
    share: Any = 0.5
    if count is not None:
        pairs = count.reshape(rows, columns // 2, 2)
        share = pairs[:, :, 1] / np.maximum(pairs.sum(axis=2), 1)
    found = left + (right - left) * share
    largest, bits = way == _LARGEST, way == _BITS
    found[largest] = np.maximum(left[largest], right[largest])
    words = np.nan_to_num(two[bits]).astype(np.int64)
    found[bits] = words[:, :, 0] | words[:, :, 1]
    found = np.where(np.isnan(left), right, np.where(np.isnan(right), left, found))
    return np.ascontiguousarray(found, np.float32)


def coarsen_grid(grid: Grid, width_ns: int) -> Grid:
    """``grid`` in stretches of ``width_ns``, a power of two times its own."""
    way = np.array([_choose_merge_way(key.metric) for key in grid.series], np.int8)
    while grid.width_ns < width_ns:
        width = 2 * grid.width_ns
        odd = (grid.start_ns // grid.width_ns) % 2
        columns = grid.value.shape[1]
        padding = ((0, 0), (odd, (columns + odd) % 2))
        value = np.pad(grid.value, padding, constant_values=np.nan)
        start_ns = grid.start_ns - odd * grid.width_ns
        grid = Grid(grid.series, start_ns, width, _merge_neighbours(value, None, way))
    return grid
