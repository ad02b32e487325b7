"""What the columns of a table of telemetry are, from its first line.

Wide: one column a metric, one row a GPU and time, as ``nvidia-smi --query-gpu`` prints it.
Long: columns ``metric`` and ``value``, one row a sample.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from triage.domain.patterns import compile_re
from triage.parsers.telemetry.labels import IDENTITY
from triage.parsers.telemetry.metrics import Source, find_metric

# What a column is.
PASSED: Final = 0
KEY: Final = 1
TIME: Final = 2
VALUE: Final = 3

MAX_COLUMNS: Final = 512
_DELIMITERS: Final = (",", "\t", ";", "|")
_TIMES: Final = (
    "timestamp", "at", "time", "datetime", "ts", "date_time", "timestamp_ns", "timestamp_ms",
    "timestamp_s", "at_ns", "time_ns",
)  # fmt: skip
_METRICS: Final = ("metric", "metric_name", "__name__", "field")
_VALUES: Final = ("value", "metric_value")
# "power.draw [W]", "utilization.gpu [%]"
_UNIT = compile_re(r"\s*\[[^\]]{0,12}\]$")


@dataclass(frozen=True, slots=True)
class Columns:
    """``roles[i]`` is what column ``i`` is; ``sources`` are those of the columns of values in
    their order, empty for a long table, whose ``metric`` column says it row by row. ``time`` is
    -1 where no column says when.
    """

    delimiter: str
    names: tuple[str, ...]
    roles: tuple[int, ...]
    sources: tuple[Source, ...]
    time: int
    metric: int = -1

    @property
    def num_values(self) -> int:
        """Columns of values."""
        return max(len(self.sources), 1)


def parse_header(line: bytes) -> Columns | None:
    """The columns that the first line of a file names; None where it heads no telemetry."""
    text = line.decode("utf-8", "replace").strip("\r\n\ufeff ")
    if not text or (not text.isprintable() and "\t" not in text):
        return None
    delimiter = max(_DELIMITERS, key=text.count)
    if not text.count(delimiter):
        return None
    try:
        row = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return None
    return recognize_columns(row, delimiter)


def recognize_columns(row: Iterable[str], delimiter: str = ",") -> Columns | None:
    """The columns of those names; None where none of them is of telemetry."""
    names = tuple(_UNIT.sub("", one.strip().strip('"').strip()).lower() for one in row)
    if not 2 <= len(names) <= MAX_COLUMNS:
        return None
    time = next((names.index(one) for one in _TIMES if one in names), -1)
    metric = next((names.index(one) for one in _METRICS if one in names), -1)
    value = next((names.index(one) for one in _VALUES if one in names), -1)
    if metric >= 0 and value >= 0 and time >= 0:
        roles = [KEY if name in IDENTITY else PASSED for name in names]
        roles[metric], roles[value], roles[time] = KEY, VALUE, TIME
        return Columns(delimiter, names, tuple(roles), (), time, metric)
    found = [find_metric(name) for name in names]
    sources = tuple(one for one in found if one is not None)
    if not sources:
        return None
    roles = [
        VALUE if source is not None else KEY if name in IDENTITY else PASSED
        for name, source in zip(names, found, strict=True)
    ]
    if time >= 0:
        roles[time] = TIME
    return Columns(delimiter, names, tuple(roles), sources, time)
