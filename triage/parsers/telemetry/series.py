"""Which series a line belongs to: a growing table from hashes of its identity to numbers.

The compiled loops look a line's hash up; one that they have not met is read in Python,
once. Most lines of a scrape are of metrics that are not read: they have number -1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import Word, compiled, inlined
from triage.parsers.telemetry.labels import build_series_key, find_labelled_uuid
from triage.parsers.telemetry.metrics import Source
from triage.parsers.telemetry.samples import GpuHomes, SeriesKey

_Array = Any
# Few enough that a small file which makes the table grow warms a reader up.
FIRST_SLOTS: Final = 1 << 9
# Of 2,048 nodes with 8 GPUs, a full export has 400,000 series. Of a wide table, its values.
MOST_LINES: Final = 1 << 21


@inlined
def find_slot(slots: _Array, hashes: _Array, h: Word) -> Word:
    """Where ``h`` is or would be; ``slots`` holds numbers + 1 and has a power of two of room."""
    mask = len(slots) - 1
    at = h & mask
    while slots[at] != 0 and hashes[slots[at] - 1] != h:
        at = (at + 1) & mask
    return at


@compiled
def _rehash(slots: _Array, hashes: _Array, count: Word) -> None:
    for number in range(count):
        slots[find_slot(slots, hashes, hashes[number])] = number + 1


@dataclass(slots=True)
class SeriesTable:
    """Identities by hash, and the series that they stand for.

    ``of[number, column]`` is the series of a line's value in ``column`` (one column for
    exposition text), -1 for none; ``scale`` is what its value is to be multiplied by.
    """

    columns: int = 1
    count: int = 0
    slots: np.ndarray = field(default_factory=lambda: np.zeros(FIRST_SLOTS, np.int32))
    hashes: np.ndarray = field(default_factory=lambda: np.zeros(FIRST_SLOTS // 2, np.int64))
    of: np.ndarray = field(init=False)
    scale: np.ndarray = field(init=False)
    series: list[SeriesKey] = field(default_factory=list)
    known: dict[SeriesKey, int] = field(default_factory=dict)
    full: bool = False
    gpus: GpuHomes = field(default_factory=GpuHomes)

    def __post_init__(self) -> None:
        self.of = np.full((FIRST_SLOTS // 2, self.columns), -1, np.int32)
        self.scale = np.ones((FIRST_SLOTS // 2, self.columns))

    def make_room(self) -> None:
        """Room for one more identity, up to a bound; then ``full`` is set."""
        if self.count < len(self.hashes):
            return
        # A line takes memory for each of its columns.
        if 2 * len(self.hashes) > MOST_LINES // self.columns:
            self.full = True
            return
        self.hashes = np.concatenate([self.hashes, np.zeros_like(self.hashes)])
        self.of = np.concatenate([self.of, np.full_like(self.of, -1)])
        self.scale = np.concatenate([self.scale, np.ones_like(self.scale)])
        self.slots = np.zeros(2 * len(self.hashes), np.int32)
        _rehash(self.slots, self.hashes, self.count)

    def add(
        self, number: int, column: int, source: Source, labels: Mapping[str, str], node: str | None
    ) -> None:
        """Line ``number`` has in ``column`` a value of the series that ``labels`` tell."""
        key = build_series_key(source, labels, node)
        self.gpus.add(find_labelled_uuid(labels), key.node, key.gpu)
        index = self.known.setdefault(key, len(self.series))
        if index == len(self.series):
            self.series.append(key)
        self.of[number, column] = index
        self.scale[number, column] = source.bit or source.scale
