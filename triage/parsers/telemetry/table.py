"""Tables of telemetry as text: ``nvidia-smi --query-gpu=... --format=csv`` and CSV of any origin.

::

    timestamp, index, pci.bus_id, temperature.gpu, power.draw [W], clocks.sm [MHz]
    2026/11/21 03:04:15.123, 0, 00000000:1B:00.0, 61, 690.12 W, 1980 MHz
    2026/11/21 03:04:15.131, 1, 00000000:43:00.0, 58, [N/A], 1980 MHz

    at,node,gpu,metric,value
    2026-11-21T03:04:15Z,n3,0000:1b:00,gpu_temp_c,61

The first line names the columns. Units behind numbers are passed over, what is no number is no
sample. A row without a time of its own is counted and not used.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from triage.errors import Corrupt
from triage.parsers.telemetry.labels import KEY, VALUE, Columns, find_source, parse_header
from triage.parsers.telemetry.numbers import MOST_NUMBER, parse_instant, parse_number
from triage.parsers.telemetry.samples import ReadBytes, Samples, Tally, iterate_lines
from triage.parsers.telemetry.series import SeriesTable, Target

_NO_TIME_COLUMN: Final = (
    "a table of telemetry without a column of times: add `timestamp` to --query-gpu, or a"
    " column `at`"
)
NO_ROW: Final = "no row with a time and as many columns as the first line names"

_Row = tuple[int, tuple[str, ...], Sequence[float]]
"""ns since the epoch, the cells that tell rows apart, and the values, NaN for none."""


def read_table(read: ReadBytes, tally: Tally, node: str | None) -> Iterator[Samples]:
    """Batches of samples; ``node`` is whose they are where no column says it.

    Raises :class:`Corrupt` for a table whose first line names no column of times.
    """
    lines = (line for line in iterate_lines(read, tally) if line and not line.startswith("#"))
    header = next(lines, "")
    columns = parse_header(header.encode())
    if columns is None or columns.time < 0:
        raise Corrupt(_NO_TIME_COLUMN)
    rows = _parse_rows((line for line in lines if line != header), columns, tally)
    yield from _collect_samples(rows, columns, tally, node)


def _parse_rows(lines: Iterable[str], columns: Columns, tally: Tally) -> Iterator[_Row]:
    """The rows of text that have a time and all columns; others are counted."""
    keys, values = columns.list_places(KEY), columns.list_places(VALUE)
    for line in lines:
        cells = line.split(columns.delimiter) if '"' not in line else _unquote(line, columns)
        is_whole = len(cells) >= len(columns.names)
        at = parse_instant(cells[columns.time]) if is_whole else None
        if at is None:
            tally.skip(NO_ROW, 1, tally.lines)
            continue
        tally.zoneless += at[1]
        yield at[0], tuple([cells[k] for k in keys]), [parse_number(cells[k]) for k in values]


def _unquote(line: str, columns: Columns) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=columns.delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


def _collect_samples(
    rows: Iterable[_Row], columns: Columns, tally: Tally, node: str | None
) -> Iterator[Samples]:
    """Rows with several values as samples, row by row; what is no number is left out."""
    table = SeriesTable(tally, node)
    for at_ns, identity, values in rows:
        targets = table.of.get(identity)
        if targets is None:
            targets = _learn_row(table, columns, identity)
        for column, index, factor in targets:
            if abs(values[column]) < MOST_NUMBER:
                table.add(index, at_ns, values[column] * factor)
        if table.is_full():
            yield from table.take()
    yield from table.take()


def _learn_row(table: SeriesTable, columns: Columns, identity: tuple[str, ...]) -> Sequence[Target]:
    """Which series the values of rows with these cells are of."""
    names = [columns.names[k] for k in columns.list_places(KEY)]
    labels = {name: cell.strip() for name, cell in zip(names, identity, strict=True)}
    if columns.metric < 0:
        return table.learn(identity, columns.sources, labels)
    metric = labels.pop(columns.names[columns.metric], "")
    return table.learn(identity, [find_source(metric, labels)], labels)
