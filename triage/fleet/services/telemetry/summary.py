"""Samples to cells, batch by batch, in memory that grows with series and hours alone.

For each series one hour is open; what a batch adds to it is added up at once, and an hour that
is left is laid aside. When so many are laid aside that they should be written, the caller takes
them. Samples that an earlier upload has told already are known by the times of its cells, and
are left out one by one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from triage.errors import Place, TooLarge
from triage.fleet.services.telemetry.cells import (
    DAY_HOURS,
    HOUR_US,
    Cells,
    Flags,
    Floats,
    Ints,
    fold,
    join,
    join_consecutive,
    make_empty_cells,
    merge_cells,
)
from triage.fleet.services.telemetry.day import BRAKED, SLOWED_DOWN, is_counter
from triage.fleet.services.telemetry.pack import SeriesName
from triage.parsers.telemetry.metrics import BRAKE, SLOWED, Metric
from triage.parsers.telemetry.samples import Samples, SeriesKey

# Cells laid aside before they are written: 90 bytes each, and some copies of them.
MOST_CELLS: Final = 250_000
# Twelve of each GPU of 2,048 nodes, at a kilobyte each; what is more comes in several bodies.
MOST_SERIES: Final = 200_000
# Sixteen GPUs with eighteen links each, and all that is measured of them, have 2,000.
MOST_OF_NODE: Final = 8_192
OF_NOBODY: Final = ""
# As for nodes everywhere; what is longer is no name.
_MOST_NAME: Final = 256
# No sensor shows more; sums of hours stay exact.
_MOST_VALUE: Final = 1e15
# What belongs to a cluster where no node is named: a job's step time.
_SHARED: Final = frozenset({Metric.STEP_TIME_S})
NodeDay = tuple[str, int]
Known = Callable[[list[NodeDay]], list[tuple[NodeDay, list[SeriesName], Cells]]]


@dataclass(slots=True)
class Summary:
    """The cells of one upload; its methods raise :class:`TooLarge` for more than it has room for.

    ``since_us`` and ``until_us`` bound the times that are taken. ``known`` gives what is stored
    of some days of nodes. ``kept``, ``repeated``, ``outside`` and ``nameless`` count samples:
    those that told something, those that were told before, those of times that are not taken,
    and those of no node, or with a name that is none. ``racks`` is where labels say that a node
    stands.
    """

    since_us: int
    until_us: int
    known: Known
    kept: int = 0
    repeated: int = 0
    outside: int = 0
    nameless: int = 0
    first_us: int | None = None
    last_us: int | None = None
    racks: dict[str, str] = field(default_factory=dict)
    names: list[tuple[str, SeriesName]] = field(default_factory=list)
    numbers: dict[tuple[str, SeriesName], int] = field(default_factory=dict)
    node_numbers: dict[str, int] = field(default_factory=dict)
    num_of: Counter[str] = field(default_factory=Counter)
    node_of: Ints = field(default_factory=lambda: np.zeros(256, np.int64))
    counts: Flags = field(default_factory=lambda: np.zeros(256, np.bool_))
    open: Cells = field(default_factory=lambda: make_empty_cells(256))
    aside: list[Cells] = field(default_factory=list)
    num_aside: int = 0
    looked_up: set[int] = field(default_factory=set)
    known_keys: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    known_first: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    known_last: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    reader: Sequence[SeriesKey] = ()
    mapped: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    masks: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def add(self, batch: Samples) -> None:
        """Take one batch in."""
        self.learn(batch)
        series = self.mapped[batch.series_index]
        at_us = batch.at_ns // 1000
        named = series >= 0
        in_time = (at_us >= self.since_us) & (at_us < self.until_us)
        in_time &= np.abs(batch.value) < _MOST_VALUE
        self.nameless += int(np.count_nonzero(~named))
        self.outside += int(np.count_nonzero(named & ~in_time))
        wanted = named & in_time
        value = batch.value
        masks = self.masks[batch.series_index]
        if not wanted.all():
            series, at_us = series[wanted], at_us[wanted]
            value, masks = value[wanted], masks[wanted]
        if not len(series):
            return
        if masks.any():
            series, at_us, value = _with_reasons(series, at_us, value, masks)
        series, at_us, value = _order_samples(series, at_us, value)
        self.note_times(at_us)
        self.fold(series, at_us, value)

    def note_times(self, at_us: Ints) -> None:
        """Widen what the upload spans."""
        first, last = int(at_us.min()), int(at_us.max())
        self.first_us = first if self.first_us is None else min(first, self.first_us)
        self.last_us = last if self.last_us is None else max(last, self.last_us)

    def fold(self, series: Ints, at_us: Ints, value: Floats) -> None:
        """Sorted samples without repeats, beside what is stored and what is open."""
        self.look_up(series, at_us)
        apart = None
        if len(self.known_keys):
            keys = _compute_key(series, at_us // HOUR_US)
            at = np.minimum(np.searchsorted(self.known_keys, keys), len(self.known_keys) - 1)
            hit = self.known_keys[at] == keys
            told = hit & (at_us >= self.known_first[at]) & (at_us <= self.known_last[at])
            self.repeated += int(np.count_nonzero(told))
            behind = (hit & (at_us > self.known_last[at])).astype(np.int64)
            series, at_us, value = series[~told], at_us[~told], value[~told]
            apart = behind[~told]
        self.kept += len(series)
        self.lay(fold(series, at_us, value, self.counts, apart))

    def lay(self, cells: Cells) -> None:
        """Add cells, sorted by series and time, to the open hours."""
        if not len(cells):
            return
        first = np.empty(len(cells), bool)
        first[0] = True
        first[1:] = cells.series[1:] != cells.series[:-1]
        start = np.flatnonzero(first)
        of = cells.series[start]
        was = self.open.take(of)
        going_on = (was.hour == cells.hour[start]) & (was.last_us < cells.first_us[start])
        if len(start) == len(cells) and going_on.all():
            self.open.put(of, join_consecutive(was, cells, self.counts))
            return
        if going_on.any():
            more = start[going_on]
            cells.put(more, join_consecutive(was.take(going_on), cells.take(more), self.counts))
        left = was.take((was.hour >= 0) & ~going_on)
        last = np.append(first[1:], True)
        self.put_aside([left, cells.take(~last)])
        self.open.put(of, cells.take(last))

    def put_aside(self, parts: Iterable[Cells]) -> None:
        """Keep cells of hours that are left, until they are taken."""
        for part in parts:
            if len(part):
                self.aside.append(part)
                self.num_aside += len(part)

    @property
    def full(self) -> bool:
        """Whether it is time to write."""
        return self.num_aside >= MOST_CELLS

    def take(self, *, end: bool) -> list[tuple[NodeDay, list[SeriesName], Cells]]:
        """What was laid aside, at the ``end`` also what is open: by node and day, one cell for
        each series and hour. What is taken is not held any more.
        """
        parts = self.aside
        if end:
            parts = [*parts, self.open.take(self.open.hour >= 0)]
            self.open.hour[:] = -1
        self.aside, self.num_aside = [], 0
        # What is written now is known from now on.
        self.looked_up.clear()
        self.known_keys = self.known_keys[:0]
        cells = merge_cells(join(parts), self.counts)
        return self.by_day(cells)

    def by_day(self, cells: Cells) -> list[tuple[NodeDay, list[SeriesName], Cells]]:
        """Cells by node and day, with names of their own."""
        if not len(cells):
            return []
        node, day = self.node_of[cells.series], cells.hour // DAY_HOURS
        order = np.lexsort((cells.hour, cells.series, day, node))
        cells, node, day = cells.take(order), node[order], day[order]
        cut = np.flatnonzero((node[1:] != node[:-1]) | (day[1:] != day[:-1])) + 1
        nodes = list(self.node_numbers)
        found = []
        for begin, end in zip([0, *cut.tolist()], [*cut.tolist(), len(cells)], strict=True):
            part = cells.take(np.arange(begin, end))
            used, local = np.unique(part.series, return_inverse=True)
            names = [self.names[number][1] for number in used.tolist()]
            part.series[:] = local
            found.append(((nodes[int(node[begin])], int(day[begin])), names, part))
        return found

    def learn(self, batch: Samples) -> None:
        """Number the series that were not met before; each file numbers its own from 0."""
        if batch.series is not self.reader:
            self.reader = batch.series
            self.mapped, self.masks = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        known = len(self.mapped)
        if len(batch.series) == known:
            return
        new = [self.number(key) for key in batch.series[known:]]
        masks = [key.metric is Metric.THROTTLE_REASONS for key in batch.series[known:]]
        self.mapped = np.concatenate([self.mapped, np.array(new, np.int64)])
        self.masks = np.concatenate([self.masks, np.array(masks, np.bool_)])

    def number(self, key: SeriesKey) -> int:
        """The number of a series, -1 for one that is nobody's."""
        node = key.node or OF_NOBODY
        if not node and key.metric not in _SHARED:
            return -1
        gpu, part = key.gpu or "", key.part or ""
        if (
            max(len(node), len(gpu), len(part)) > _MOST_NAME
            or not (node + gpu + part).isprintable()
        ):
            return -1
        if key.rack and node and len(key.rack) <= _MOST_NAME:
            self.racks[node] = key.rack
        if key.metric is Metric.THROTTLE_REASONS:
            first = self.named(node, (SLOWED_DOWN, gpu, part))
            self.named(node, (BRAKED, gpu, part))
            return first
        return self.named(node, (str(key.metric), gpu, part))

    def named(self, node: str, name: SeriesName) -> int:
        """The number of a series by its name. Raises :class:`TooLarge` for one too many."""
        number = self.numbers.get((node, name))
        if number is not None:
            return number
        number = len(self.names)
        self.num_of[node] += 1
        if number >= MOST_SERIES or self.num_of[node] > MOST_OF_NODE:
            raise self.too_many(node)
        key = (node, name)
        self.names.append(key)
        self.numbers[key] = number
        if number >= len(self.counts):
            more = len(self.counts)
            self.counts = np.concatenate([self.counts, np.zeros(more, np.bool_)])
            self.node_of = np.concatenate([self.node_of, np.zeros(more, np.int64)])
            self.open = join([self.open, make_empty_cells(more)])
        self.counts[number] = is_counter(name[0])
        self.node_of[number] = self.node_numbers.setdefault(node, len(self.node_numbers))
        return number

    def too_many(self, node: str) -> TooLarge:
        """The refusal of one series more than there is room for."""
        why = f"names more than {MOST_SERIES:,} series"
        if self.num_of[node] > MOST_OF_NODE:
            why = f"names more than {MOST_OF_NODE:,} series of one node, {node[:80]!r}"
        return TooLarge(
            f"the body {why}",
            hint="send fewer nodes, or fewer metrics, at once; what was kept is known when it"
            " comes again",
            places=(Place("body", why),),
        )

    def look_up(self, series: Ints, at_us: Ints) -> None:
        """Ask what is stored of the days of nodes that were not asked for yet."""
        both = self.node_of[series] << 24 | at_us // (HOUR_US * DAY_HOURS)
        new = [one for one in np.unique(both).tolist() if one not in self.looked_up]
        if not new:
            return
        self.looked_up.update(new)
        nodes = list(self.node_numbers)
        asked = [(nodes[one >> 24], one & 0xFFFFFF) for one in new]
        keys, first, last = [self.known_keys], [self.known_first], [self.known_last]
        for (node, _), names, cells in self.known(asked):
            numbers = np.array([self.numbers.get((node, name), -1) for name in names] or [-1])
            mine = cells.take(numbers[cells.series] >= 0)
            keys.append(_compute_key(numbers[mine.series], mine.hour))
            first.append(mine.first_us)
            last.append(mine.last_us)
        joined = np.concatenate(keys)
        order = np.argsort(joined, kind="stable")
        self.known_keys = joined[order]
        self.known_first = np.concatenate(first)[order]
        self.known_last = np.concatenate(last)[order]


def _compute_key(series: Ints, hour: Ints) -> Ints:
    """Series and hour as one number."""
    return series << 32 | hour


def _with_reasons(
    series: Ints, at_us: Ints, value: Floats, masks: Flags
) -> tuple[Ints, Ints, Floats]:
    """Throttle reasons as two series of 0 and 1; bits told apart are put together first."""
    of, at, bits = series[masks], at_us[masks], value[masks].astype(np.int64)
    order = np.lexsort((at, of))
    of, at, bits = of[order], at[order], bits[order]
    new = np.empty(len(of), bool)
    new[0] = True
    new[1:] = (of[1:] != of[:-1]) | (at[1:] != at[:-1])
    start = np.flatnonzero(new)
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
    if np.any(at_us[1:] < at_us[:-1]):
        order = np.lexsort((at_us, series))
    else:
        order = np.argsort(series, kind="stable")
    series, at_us, value = series[order], at_us[order], value[order]
    again = np.empty(len(series), bool)
    again[0] = False
    again[1:] = (series[1:] == series[:-1]) & (at_us[1:] == at_us[:-1])
    if again.any():
        return series[~again], at_us[~again], value[~again]
    return series, at_us, value
