"""Samples: what every reader of telemetry yields, as columns in batches of bounded size.

A file may hold a thousand million samples, so no reader keeps them: each batch is to be
summarised and dropped before the next is asked for. Times are ns since the epoch in UTC.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from triage.domain.patterns import compile_re
from triage.parsers.telemetry.metrics import Metric

# Samples that a batch holds at most: 5 MiB of columns.
BATCH: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """Which quantity of which part.

    ``node`` is None where neither the sample nor its file says it. ``gpu`` is ``dddd:bb:dd``
    where the exporter says the bus id, else the index on the node (``"3"``), else the uuid
    (``"GPU-5f0c..."``), else None: a quantity of the node. ``part`` is what tells series of one
    metric apart on one GPU or node: a port (``mlx5_0/1``), a link (``4``), ``volatile``. ``rack``
    is where the node stands, where a label says it.
    """

    metric: Metric
    node: str | None = None
    gpu: str | None = None
    part: str | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Samples:
    """One batch: parallel columns of the same length, at most :data:`BATCH` long.

    ``series`` belongs to the reader and only grows: ``series[i]`` is the same series in all
    batches of one file, and a later batch may know more of them. ``series_index`` points into
    it. ``value`` is finite, in the unit that the metric's name says; of ``throttle_reasons`` it
    is a bit mask, and a file may say it bit by bit (samples of one time are to be or-ed). Samples
    come in the order of the file: times may go back, and may repeat.
    """

    series: Sequence[SeriesKey]
    series_index: npt.NDArray[np.int32]
    at_ns: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.at_ns)


# One file of telemetry among the files of an incident: what it came down to.


@dataclass(frozen=True, slots=True)
class Grid:
    """Stretches of all series of one file.

    ``value[i, k]`` is of ``series[i]`` between ``start_ns + k * width_ns`` and the next, NaN
    where there was no sample; float32, shape (series, stretches). ``width_ns`` is a power of
    two times 30 s and ``start_ns`` a multiple of it, so that grids of several files fit.
    """

    series: tuple[SeriesKey, ...]
    start_ns: int
    width_ns: int
    value: npt.NDArray[np.float32]

    @property
    def end_ns(self) -> int:
        """Where the last stretch ends."""
        return self.start_ns + self.width_ns * int(self.value.shape[1])


class Form(StrEnum):
    """How a file of telemetry is written."""

    EXPOSITION = "exposition"
    QUERY_RESULT = "query_result"
    TABLE = "table"
    # Of extracts that earlier releases stored; no file of it is read any more.
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class TelemetryFile:
    """``grid`` is None where not one sample could be used. ``zoneless`` says that its times print
    no zone and were read as UTC. ``gpus`` are (node, GPU, UUID) as labels say, of a file that was
    read just now; a stored extract has none.
    """

    artifact: str
    form: Form
    samples: int
    zoneless: bool
    grid: Grid | None
    gpus: tuple[tuple[str, str, str], ...] = ()

    def in_zone(self, ahead_ns: int) -> "TelemetryFile":
        """The same with times that were printed ``ahead_ns`` ahead of UTC."""
        if not self.zoneless or self.grid is None or not ahead_ns:
            return self
        grid = replace(self.grid, start_ns=self.grid.start_ns - ahead_ns)
        return replace(self, grid=grid, zoneless=False)


# What became of a file of telemetry: how much was read, and what was not, with its place.

_MOST_GPUS: Final = 1 << 18
_UUID: Final = compile_re(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(slots=True)
class GpuHomes:
    """UUID -> (node, GPU as series name it), as labels say; None where two nodes have it.

    The node is empty where no label names one.
    """

    of_uuid: dict[str, tuple[str, str] | None] = field(default_factory=dict)

    def add(self, uuid: str | None, node: str | None, gpu: str | None) -> None:
        """A series of this node and GPU names a UUID; what is none is left out."""
        if uuid is None or _UUID.fullmatch(uuid) is None:
            return
        here = (node or "", "" if gpu is None or gpu == uuid else gpu)
        if uuid not in self.of_uuid and len(self.of_uuid) < _MOST_GPUS:
            self.of_uuid[uuid] = here
        elif (before := self.of_uuid.get(uuid)) is not None and before[0] != here[0]:
            self.of_uuid[uuid] = None


@dataclass(slots=True)
class Tally:
    """Counts of one file. ``skipped`` is reason -> (lines, the first of them, from 1).

    ``zoneless`` counts times that print no zone; they are read as UTC.
    """

    lines: int = 0
    samples: int = 0
    zoneless: int = 0
    skipped: dict[str, tuple[int, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    gpus: GpuHomes = field(default_factory=GpuHomes)

    def skip(self, why: str, count: int, first_line: int) -> None:
        """Count lines that were not used, for ``why``."""
        if count:
            known, first = self.skipped.get(why, (0, first_line))
            self.skipped[why] = (known + count, min(first, first_line))


# The lines of a stream of bytes.

_PIECE: Final = 1 << 20
# A line of a wide table of all GPUs of a large job; what is longer is not a line.
_MAX_LINE: Final = 1 << 20

ReadBytes = Callable[[int], bytes]
"""Up to so many bytes more of a file, decompressed; none at its end."""


def iterate_lines(read: ReadBytes, tally: Tally) -> Iterator[str]:
    """The lines of a file; ``tally.lines`` is the number of each.

    A line beyond 1 MiB is passed over and counted.
    """
    rest, is_overlong = b"", False
    # The last line may lack its end.
    while piece := read(_PIECE) or (rest and b"\n"):
        whole, feed, rest = (rest + piece).rpartition(b"\n")
        for line in whole.decode("utf-8", "replace").split("\n") if feed else ():
            tally.lines += 1
            if not is_overlong:
                yield line.strip("\r ")
            is_overlong = False
        if len(rest) > _MAX_LINE:
            if not is_overlong:
                tally.skip("too long", 1, tally.lines + 1)
            rest, is_overlong = b"", True
