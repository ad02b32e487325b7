"""Samples: what every reader of telemetry yields, as columns in batches of bounded size.

A file may hold a thousand million samples, so no reader keeps them: each batch is to be
summarised and dropped before the next is asked for. Times are ns since the epoch in UTC.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

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
