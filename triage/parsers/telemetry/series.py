"""The series of one file, by what a line says of whose it is, and samples of them on their way."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from triage.parsers.telemetry.labels import build_series_key, find_labelled_uuid
from triage.parsers.telemetry.metrics import Source
from triage.parsers.telemetry.samples import BATCH, Samples, SeriesKey, Tally

# Of 2,048 nodes with 8 GPUs, a full export has 400,000 series.
MOST_SERIES: Final = 1 << 20
TOO_MANY: Final = "of more series than are read"

Target = tuple[int, int, float]
"""(column of a line, series of its value, what the value is to be multiplied by)."""


@dataclass(slots=True)
class SeriesTable:
    """``of`` has the targets of each identity that lines were met with; ``node`` is whose the
    series are where nothing says it.
    """

    tally: Tally
    node: str | None
    series: list[SeriesKey] = field(default_factory=list)
    of: dict[Hashable, Sequence[Target]] = field(default_factory=dict)
    num_targets: int = 0
    _numbers: dict[SeriesKey, int] = field(default_factory=dict)
    _index: list[int] = field(default_factory=list)
    _at_ns: list[int] = field(default_factory=list)
    _value: list[float] = field(default_factory=list)

    def learn(
        self, identity: Hashable, sources: Sequence[Source | None], labels: Mapping[str, str]
    ) -> Sequence[Target]:
        """The targets of lines of a new identity, whose columns have these sources."""
        if self.num_targets >= MOST_SERIES:
            if TOO_MANY not in self.tally.notes:
                self.tally.notes.append(TOO_MANY)
            return ()
        targets = []
        for column, source in enumerate(sources):
            if source is not None:
                key = build_series_key(source, labels, self.node)
                self.tally.gpus.add(find_labelled_uuid(labels), key.node, key.gpu)
                index = self._numbers.setdefault(key, len(self.series))
                if index == len(self.series):
                    self.series.append(key)
                targets.append((column, index, source.bit or source.scale))
        self.of[identity] = targets
        self.num_targets += max(1, len(targets))
        return targets

    def add(self, index: int, at_ns: int, value: float) -> None:
        """One sample more."""
        self._index.append(index)
        self._at_ns.append(at_ns)
        self._value.append(value)

    def extend(self, index: int, at_ns: Sequence[int], values: Sequence[float]) -> None:
        """Several samples more of one series."""
        self._index.extend([index] * len(values))
        self._at_ns.extend(at_ns)
        self._value.extend(values)

    def is_full(self) -> bool:
        """Whether a batch has come together."""
        return len(self._value) >= BATCH

    def take(self) -> Iterator[Samples]:
        """All that was added, in batches."""
        for start in range(0, len(self._value), BATCH):
            part = slice(start, start + BATCH)
            found = Samples(
                self.series,
                np.array(self._index[part], np.int32),
                np.array(self._at_ns[part], np.int64),
                np.array(self._value[part], np.float64),
            )
            self.tally.samples += len(found)
            yield found
        self._index, self._at_ns, self._value = [], [], []
