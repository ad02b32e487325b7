"""Cells: what the samples of one series within one hour come down to.

Cells of one hour whose times do not overlap add up exactly, in whatever order they come: a
counter's growth between two of them is known from the last value of the one and the first of
the other. A cell that lies within the time of another tells nothing new, and is dropped.
Of two that overlap in part nothing is dropped: what both saw then counts twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
import numpy.typing as npt

HOUR_US: Final = 3_600_000_000
DAY_HOURS: Final = 24
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cells:
    """Parallel columns. ``series`` is a number of the caller's; ``hour`` counts since the epoch.

    ``first_us`` and ``last_us`` are the times of the first and last of ``count`` samples, us
    since the epoch; ``first`` and ``last`` their values; ``total`` the sum of all. ``growth`` is
    by how much a counter grew within the cell (after a reset it grew by what it shows); 0 for
    what is no counter.
    """

    series: Ints
    hour: Ints
    count: Ints
    first_us: Ints
    last_us: Ints
    low: Floats
    high: Floats
    first: Floats
    last: Floats
    total: Floats
    growth: Floats

    def __len__(self) -> int:
        return len(self.series)

    def take(self, index: npt.NDArray[np.intp] | Flags) -> "Cells":
        """The cells at ``index``, or where it is true."""
        return Cells(*(getattr(self, one.name)[index] for one in fields(self)))

    def put(self, index: npt.NDArray[np.intp], cells: "Cells") -> None:
        """Write ``cells`` over those at ``index``."""
        for one in fields(self):
            getattr(self, one.name)[index] = getattr(cells, one.name)


def make_empty_cells(size: int = 0) -> Cells:
    """``size`` cells without a sample; their hour is -1."""
    none, zero = np.zeros((4, size), np.int64), np.zeros((6, size))
    return Cells(none[0], np.full(size, -1), *none[1:], *zero)


def join(parts: Sequence[Cells]) -> Cells:
    """Several one behind the other."""
    if not parts:
        return make_empty_cells()
    return Cells(
        *(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Cells))
    )


def fold(
    series: Ints, at_us: Ints, value: Floats, counts: Flags, apart: Ints | None = None
) -> Cells:
    """Cells of samples, by series and time; ``counts[series]`` is whether it is a counter.

    Samples are sorted by series and time, and no two of one series are of one time. ``apart``
    are numbers of samples; where it changes, a new cell begins within an hour too.
    """
    if not len(series):
        return make_empty_cells()
    hour = at_us // HOUR_US
    new = np.empty(len(series), bool)
    new[0] = True
    new[1:] = (series[1:] != series[:-1]) | (hour[1:] != hour[:-1])
    if apart is not None:
        new[1:] |= apart[1:] != apart[:-1]
    start = np.flatnonzero(new)
    end = np.append(start[1:], len(series)) - 1
    of = series[start]
    step = np.empty(len(value))
    step[0] = 0.0
    np.subtract(value[1:], value[:-1], out=step[1:])
    reset = step < 0
    step[reset] = value[reset]
    step[start] = 0.0
    return Cells(
        series=of,
        hour=hour[start],
        count=(end - start + 1).astype(np.int64),
        first_us=at_us[start],
        last_us=at_us[end],
        low=np.minimum.reduceat(value, start),
        high=np.maximum.reduceat(value, start),
        first=value[start],
        last=value[end],
        total=np.add.reduceat(value, start),
        growth=np.where(counts[of], np.add.reduceat(step, start), 0.0),
    )


def merge_cells(cells: Cells, counts: Flags) -> Cells:
    """One cell for each series and hour, sorted by both."""
    order = np.lexsort((cells.last_us, cells.first_us, cells.hour, cells.series))
    cells = cells.take(order)
    if len(cells) < 2:
        return cells
    new = np.empty(len(cells), bool)
    new[0] = True
    new[1:] = (cells.series[1:] != cells.series[:-1]) | (cells.hour[1:] != cells.hour[:-1])
    group = np.cumsum(new) - 1
    start = np.flatnonzero(new)
    place = np.arange(len(cells)) - start[group]
    kept = cells.take(start)
    # By the place in their group: the first of all groups with the second of all, and so on.
    for turn in range(1, int(place.max()) + 1):
        at = np.flatnonzero(place == turn)
        into = group[at]
        kept.put(into, _combine_overlapping(kept.take(into), cells.take(at), counts))
    return kept


def _combine_overlapping(early: Cells, late: Cells, counts: Flags) -> Cells:
    """Cells of the same series and hours, of which ``early`` began no later, as one."""
    within = late.last_us <= early.last_us
    covers = (late.first_us == early.first_us) & ~within
    overlaps = (late.first_us <= early.last_us) & ~within & ~covers
    sums = join_consecutive(early, late, counts)
    at_least = np.maximum(np.maximum(early.growth, late.growth), sums.high - sums.low)
    at_least = np.where(counts[early.series], at_least, 0.0)
    sums = replace(sums, growth=np.where(overlaps, at_least, sums.growth))
    return Cells(
        *(
            np.where(
                within,
                getattr(early, one.name),
                np.where(covers, getattr(late, one.name), getattr(sums, one.name)),
            )
            for one in fields(Cells)
        )
    )


def join_consecutive(early: Cells, late: Cells, counts: Flags) -> Cells:
    """Cells of the same series and hours as one, where ``late`` begins after ``early`` ends."""
    between = late.first - early.last
    between = np.where(between < 0, late.first, between)
    growth = early.growth + late.growth + between
    return Cells(
        series=early.series,
        hour=early.hour,
        count=early.count + late.count,
        first_us=early.first_us,
        last_us=late.last_us,
        low=np.minimum(early.low, late.low),
        high=np.maximum(early.high, late.high),
        first=early.first,
        last=late.last,
        total=early.total + late.total,
        growth=np.where(counts[early.series], growth, 0.0),
    )
