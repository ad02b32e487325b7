"""Samples to cells, batch by batch, in memory that grows with series and hours alone.

The cells of a batch are laid aside, and those of one series and hour are merged from time to time.
When so many are left that they should be written, the caller takes them. Samples that an earlier
upload has told already are known by the times of its cells, and are left out one by one.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from triage.errors import Place, TooLarge
from triage.fleet.services.telemetry.cells import (
    BRAKED,
    CELL,
    DAY_HOURS,
    HOUR_US,
    SLOWED_DOWN,
    Cells,
    Flags,
    Floats,
    Ints,
    SeriesName,
    fold,
    is_counter,
    join_cells,
    mark_changes,
    merge_cells,
)
from triage.parsers.telemetry.metrics import BRAKE, SLOWED, Metric
from triage.parsers.telemetry.samples import Samples, SeriesKey

# Cells laid aside before they are merged: 90 bytes each, and some copies of them. They are written
# when more than half of them are left then, which is more than the open hours of all series.
MOST_CELLS: Final = 500_000
# Twelve of each GPU of 2,048 nodes, at a kilobyte each; what is more comes in several bodies.
MOST_SERIES: Final = 200_000
# Sixteen GPUs with eighteen links each, and all that is measured of them, have 2,000.
MOST_OF_NODE: Final = 8_192
# As for nodes everywhere; what is longer is no name.
_MOST_NAME: Final = 256
# No sensor shows more; sums of hours stay exact.
_MOST_VALUE: Final = 1e15
NodeDay = tuple[str, int]
OneDay = tuple[NodeDay, list[SeriesName], Cells]
"""A day of a node: the names of its series, and its cells."""


class Summary:
    """The cells of one upload; its methods raise :class:`TooLarge` for more than it has room for.

    ``since_us`` and ``until_us`` bound the times that are taken. ``known`` gives what is stored
    of some days of nodes. ``kept``, ``repeated``, ``outside`` and ``nameless`` count samples:
    those that told something, those that were told before, those of times that are not taken,
    and those of no node, or with a name that is none. ``racks`` is where labels say that a node
    stands.
    """

    def __init__(
        self, since_us: int, until_us: int, known: Callable[[list[NodeDay]], list[OneDay]]
    ) -> None:
        self.since_us = since_us
        self.until_us = until_us
        self.known = known
        self.kept = self.repeated = self.outside = self.nameless = 0
        self.first_us: int | None = None
        self.last_us: int | None = None
        self.racks: dict[str, str] = {}
        self.numbers: dict[tuple[str, SeriesName], int] = {}
        self.node_numbers: dict[str, int] = {}
        self._num_of: Counter[str] = Counter()
        self._node_of: list[int] = []
        self._counts: list[bool] = []
        self._aside: list[Cells] = []
        self._num_aside = 0
        self._looked_up: set[int] = set()
        self._stored: Cells = np.zeros(0, CELL)
        self._reader: Sequence[SeriesKey] = ()
        self._mapped: list[int] = []

    def add(self, batch: Samples) -> None:
        """Take one batch in."""
        if batch.series is not self._reader:  # each file numbers its own from 0
            self._reader, self._mapped = batch.series, []
        self._mapped += [self._number(key) for key in batch.series[len(self._mapped) :]]
        series = np.array(self._mapped, np.int64)[batch.series_index]
        at_us, value = batch.at_ns // 1000, batch.value
        named = series >= 0
        in_time = (at_us >= self.since_us) & (at_us < self.until_us)
        in_time &= np.abs(value) < _MOST_VALUE
        self.nameless += int(np.count_nonzero(~named))
        self.outside += int(np.count_nonzero(named & ~in_time))
        wanted = named & in_time
        if not wanted.any():
            return
        masks = np.array([key.metric is Metric.THROTTLE_REASONS for key in batch.series])
        series, at_us, value = _split_reasons(
            series[wanted], at_us[wanted], value[wanted], masks[batch.series_index][wanted]
        )
        series, at_us, value = _order_samples(series, at_us, value)
        first, last = int(at_us.min()), int(at_us.max())
        self.first_us = first if self.first_us is None else min(first, self.first_us)
        self.last_us = last if self.last_us is None else max(last, self.last_us)
        self._fold(series, at_us, value)

    def _fold(self, series: Ints, at_us: Ints, value: Floats) -> None:
        """Sorted samples without repeats, beside what is stored."""
        self._look_up(series, at_us)
        apart = None
        if len(self._stored):
            keys = _compute_key(self._stored["series"], self._stored["hour"])
            wanted = _compute_key(series, at_us // HOUR_US)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            stored, hit = self._stored[at], keys[at] == wanted
            told = hit & (at_us >= stored["first_us"]) & (at_us <= stored["last_us"])
            self.repeated += int(np.count_nonzero(told))
            apart = (hit & (at_us > stored["last_us"])).astype(np.int64)[~told]
            series, at_us, value = series[~told], at_us[~told], value[~told]
        self.kept += len(series)
        counts = np.array(self._counts, np.bool_)
        self._aside.append(fold(series, at_us, value, counts, apart))
        self._num_aside += len(self._aside[-1])
        if self._num_aside > MOST_CELLS:
            self._aside = [merge_cells(join_cells(self._aside), counts)]
            self._num_aside = len(self._aside[0])

    @property
    def full(self) -> bool:
        """Whether it is time to write."""
        return self._num_aside > MOST_CELLS // 2

    def take(self) -> list[OneDay]:
        """What was laid aside, by node and day, one cell for each series and hour, with names of
        its own. What is taken is not held any more.
        """
        cells = merge_cells(join_cells(self._aside), np.array(self._counts, np.bool_))
        self._aside, self._num_aside = [], 0
        # What is written now is known from now on.
        self._looked_up.clear()
        self._stored = self._stored[:0]
        node = np.array(self._node_of, np.int64)[cells["series"]]
        day = cells["hour"] // DAY_HOURS
        order = np.lexsort((cells["hour"], cells["series"], day, node))
        cells, node, day = cells[order], node[order], day[order]
        begins = np.flatnonzero(mark_changes(node, day))
        nodes, all_names = list(self.node_numbers), list(self.numbers)
        found: list[OneDay] = []
        for begin, part in zip(begins.tolist(), np.split(cells, begins[1:]), strict=False):
            used, local = np.unique(part["series"], return_inverse=True)
            names = [all_names[number][1] for number in used.tolist()]
            part["series"] = local
            found.append(((nodes[int(node[begin])], int(day[begin])), names, part))
        return found

    def _number(self, key: SeriesKey) -> int:
        """The number of a series, -1 for one that is nobody's."""
        node = key.node or ""
        gpu, part = key.gpu or "", key.part or ""
        longest = max(len(node), len(gpu), len(part))
        if not node or longest > _MOST_NAME or not (node + gpu + part).isprintable():
            return -1
        if key.rack and len(key.rack) <= _MOST_NAME:
            self.racks[node] = key.rack
        if key.metric is Metric.THROTTLE_REASONS:
            first = self._number_name(node, (SLOWED_DOWN, gpu, part))
            self._number_name(node, (BRAKED, gpu, part))
            return first
        return self._number_name(node, (str(key.metric), gpu, part))

    def _number_name(self, node: str, name: SeriesName) -> int:
        """The number of a series by its name. Raises :class:`TooLarge` for one too many."""
        number = self.numbers.get((node, name))
        if number is not None:
            return number
        number = len(self.numbers)
        self._num_of[node] += 1
        if self._num_of[node] > MOST_OF_NODE:
            raise _refuse_series(f"{MOST_OF_NODE:,} series of one node, {node[:80]!r}")
        if number >= MOST_SERIES:
            raise _refuse_series(f"{MOST_SERIES:,} series")
        self.numbers[node, name] = number
        self._counts.append(is_counter(name[0]))
        self._node_of.append(self.node_numbers.setdefault(node, len(self.node_numbers)))
        return number

    def _look_up(self, series: Ints, at_us: Ints) -> None:
        """Ask what is stored of the days of nodes that were not asked for yet."""
        both = np.array(self._node_of)[series] << 24 | at_us // (HOUR_US * DAY_HOURS)
        new = [one for one in np.unique(both).tolist() if one not in self._looked_up]
        if not new:
            return
        self._looked_up.update(new)
        nodes = list(self.node_numbers)
        parts = [self._stored]
        for (node, _), names, cells in self.known([(nodes[n >> 24], n & 0xFFFFFF) for n in new]):
            numbers = np.array([self.numbers.get((node, name), -1) for name in names] or [-1])
            mine = cells[numbers[cells["series"]] >= 0]
            mine["series"] = numbers[mine["series"]]
            parts.append(mine)
        stored = join_cells(parts)
        order = np.argsort(_compute_key(stored["series"], stored["hour"]), kind="stable")
        self._stored = stored[order]


def _refuse_series(bound: str) -> TooLarge:
    """The refusal of one series more than there is room for."""
    why = f"names more than {bound}"
    return TooLarge(
        f"the body {why}",
        hint="send fewer nodes, or fewer metrics, at once; what was kept is known when it"
        " comes again",
        places=(Place("body", why),),
    )


def _compute_key(series: Ints, hour: Ints) -> Ints:
    """Series and hour as one number."""
    return series << 32 | hour


def _split_reasons(
    series: Ints, at_us: Ints, value: Floats, masks: Flags
) -> tuple[Ints, Ints, Floats]:
    """Throttle reasons as two series of 0 and 1; bits told apart are put together first."""
    if not masks.any():
        return series, at_us, value
    of, at, bits = series[masks], at_us[masks], value[masks].astype(np.int64)
    order = np.lexsort((at, of))
    of, at, bits = of[order], at[order], bits[order]
    start = np.flatnonzero(mark_changes(of, at))
    bits = np.bitwise_or.reduceat(bits, start)
    of, at = of[start], at[start]
    rest = ~masks
    return (
        np.concatenate([series[rest], of, of + 1]),
        np.concatenate([at_us[rest], at, at]),
        np.concatenate([value[rest], (bits & SLOWED != 0), (bits & BRAKE != 0)]).astype(float),
    )


def _order_samples(series: Ints, at_us: Ints, value: Floats) -> tuple[Ints, Ints, Floats]:
    """Samples by series and time, each time of a series once: the first that was told."""
    order = np.lexsort((at_us, series))
    series, at_us, value = series[order], at_us[order], value[order]
    new = mark_changes(series, at_us)
    return series[new], at_us[new], value[new]
