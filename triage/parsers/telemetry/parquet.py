"""Parquet files of telemetry, wide or long, with the columns of a table of text.

Parquet is read by pyarrow, which comes with ``nccl-triage[telemetry]`` alone; without it such
a file is refused with that said. Row groups are read one after the other.
"""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from triage.errors import Corrupt, Forbidden
from triage.parsers.telemetry.chunks import Bytes
from triage.parsers.telemetry.columns import KEY, VALUE, Columns, recognize_columns
from triage.parsers.telemetry.numbers import LAST_S
from triage.parsers.telemetry.samples import BATCH, Samples
from triage.parsers.telemetry.series import SeriesTable
from triage.parsers.telemetry.table import flatten_table, learn_row
from triage.parsers.telemetry.tally import Tally

MISSING: Final = (
    "a Parquet file: reading it needs pyarrow, so install `nccl-triage[telemetry]`, or give the"
    " table as CSV"
)
_NO_COLUMNS: Final = (
    "a Parquet file without columns of telemetry: it needs a time (`at`) and either metrics by"
    " name or `metric` and `value`"
)
_NO_TIME_NS: Final = -(1 << 62)
# Columns of seconds hold times that ns since the epoch cannot.
_FIRST: Final = datetime(1678, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2262, 4, 11, tzinfo=UTC)
# Its table of contents lies at its end, so the whole file is held.
_MOST_BYTES: Final = 512 << 20
_TOO_LARGE: Final = "a Parquet file of more than 512 MiB: give it in parts"
# Rows of one piece, before cells are spread over samples.
_MOST_ROWS: Final = 1 << 16


def read_parquet(stream: Bytes, tally: Tally, node: str | None) -> Iterator[Samples]:
    """Batches of samples; ``node`` is whose they are where no column says it.

    Raises :class:`Forbidden` where pyarrow is missing or the file is too large, and
    :class:`Corrupt` for a file that it cannot read or that has no columns of telemetry.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise Forbidden(MISSING) from error
    try:
        with ParquetFile(io.BytesIO(_read_whole(stream))) as file:
            columns = recognize_columns(file.schema_arrow.names)
            if columns is None or columns.time < 0:
                raise Corrupt(_NO_COLUMNS)
            wanted = [
                name
                for name, role in zip(file.schema_arrow.names, columns.roles, strict=True)
                if role
            ]
            rows = max(1, min(_MOST_ROWS, BATCH // columns.num_values))
            reader = _RowReader(columns, file.schema_arrow.names, node)
            for part in file.iter_batches(batch_size=rows, columns=wanted):
                tally.lines += part.num_rows
                batch = reader.read(part)
                tally.samples += len(batch)
                yield batch
    except (ArrowException, OSError, ValueError) as error:
        raise Corrupt(f"a Parquet file that cannot be read: {str(error)[:200]}") from error


def _read_whole(stream: Bytes) -> bytes:
    held = bytearray()
    piece = bytearray(1 << 20)
    while got := stream.fill(memoryview(piece)):
        held += piece[:got]
        if len(held) > _MOST_BYTES:
            raise Forbidden(_TOO_LARGE)
    return bytes(held)


class _RowReader:
    """Pieces of a Parquet table to samples."""

    def __init__(self, columns: Columns, names: list[str], node: str | None) -> None:
        self.columns = columns
        self.names = names
        self.node = node
        self.table = SeriesTable(columns.num_values)
        self.numbers: dict[tuple[str, ...], int] = {}

    def read(self, part: Any) -> Samples:
        """The samples of one piece; rows without a time are left out."""
        roles = self.columns.roles
        keys = [self.words(part, k) for k, role in enumerate(roles) if role == KEY]
        at_ns = _convert_times_ns(part.column(self.names[self.columns.time]))
        values = np.column_stack(
            [self.values(part, k) for k, role in enumerate(roles) if role == VALUE]
        )
        numbers = self.numbered(keys, len(at_ns))
        good = (at_ns != _NO_TIME_NS) & (numbers >= 0)
        return flatten_table(self.table, numbers[good], at_ns[good], values[good])

    def words(self, part: Any, column: int) -> list[str]:
        cells = part.column(self.names[column]).to_pylist()
        return ["" if one is None else str(one) for one in cells]

    def values(self, part: Any, column: int) -> np.ndarray:
        cells = part.column(self.names[column]).to_pandas()
        import pandas as pd

        numbers: np.ndarray = pd.to_numeric(cells, errors="coerce").to_numpy(
            np.float64, na_value=np.nan
        )
        return numbers

    def numbered(self, keys: list[list[str]], count: int) -> np.ndarray:
        """The number of each row's identity; new ones are learned."""
        found = np.empty(count, np.int64)
        for row, cells in enumerate(zip(*keys, strict=True) if keys else [()] * count):
            number = self.numbers.get(cells)
            if number is None:
                number = self.learn(cells)
            found[row] = number
        return found

    def learn(self, cells: tuple[str, ...]) -> int:
        self.table.make_room()
        if self.table.full:
            return -1
        number = self.numbers[cells] = self.table.count
        self.table.count += 1
        row = [""] * len(self.columns.names)
        places = [k for k, role in enumerate(self.columns.roles) if role == KEY]
        for place, cell in zip(places, cells, strict=True):
            row[place] = cell
        learn_row(self.table, number, self.columns, row, self.node)
        return number


def _convert_times_ns(cells: Any) -> np.ndarray:
    """Times as ns since the epoch: of timestamps, of text, or of numbers by their size."""
    import pandas as pd

    column = cells.to_pandas()
    if pd.api.types.is_numeric_dtype(column):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        size = np.abs(numbers)
        unit = np.select([size < 1e11, size < 1e14, size < 1e17], [1e9, 1e6, 1e3], 1.0)
        fits = size <= LAST_S * 1e9 / unit  # no number does not
        return np.where(fits, np.where(fits, numbers, 0.0) * unit, _NO_TIME_NS).astype(np.int64)
    stamps = pd.to_datetime(column, utc=True, errors="coerce")
    fits = stamps.between(_FIRST, _LAST).to_numpy()
    ns = stamps.where(fits).to_numpy("datetime64[ns]").astype(np.int64)
    return np.where(fits, ns, _NO_TIME_NS)
