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
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from triage.errors import Corrupt, Forbidden
from triage.parsers.flight_recorder.jit import Word, compiled
from triage.parsers.telemetry.labels import (
    KEY,
    TIME,
    VALUE,
    Columns,
    find_source,
    parse_header,
    recognize_columns,
)
from triage.parsers.telemetry.numbers import (
    LAST_S,
    NO_TIME,
    SEED,
    finish,
    has_same_bytes,
    mix_hash,
    number_at,
    read_instant,
)
from triage.parsers.telemetry.samples import BATCH, Bytes, Samples, Tally, iterate_line_chunks
from triage.parsers.telemetry.series import SeriesTable, find_slot

# Slots of ``state``.
_POS: Final = 0
_OUT: Final = 1
_COUNT: Final = 2
_LINE: Final = 3
_BAD: Final = 4
_FIRST_BAD: Final = 5
_ZONELESS: Final = 6
_NEW_START: Final = 7
_NEW_STOP: Final = 8
_STATE_SLOTS: Final = 9

_DONE, _FULL, _LEARN = 0, 1, 2
_LF, _CR, _SPACE, _TAB, _HASH, _QUOTE = 10, 13, 32, 9, 35, 34

_NO_TIME_COLUMN: Final = (
    "a table of telemetry without a column of times: add `timestamp` to --query-gpu, or a"
    " column `at`"
)
NO_ROW: Final = "no row with a time and as many columns as the first line names"
_TOO_MANY: Final = "of more series than are read"
_Array = Any


@compiled
def _scan(
    buf: _Array,
    cut: Word,
    delimiter: Word,
    roles: _Array,
    header: _Array,
    slots: _Array,
    hashes: _Array,
    rows: _Array,
    at_ns: _Array,
    values: _Array,
    state: _Array,
) -> Word:
    """DONE at ``cut``; FULL when the rows are to be taken over before it goes on; LEARN when it
    met the identity of a row for the first time, at which it looks again when it goes on.
    """
    i = state[_POS]
    room = len(hashes)
    num_columns = len(roles)
    while i < cut:
        out = state[_OUT]
        if out >= len(rows):
            state[_POS] = i
            return _FULL
        state[_LINE] += 1
        start = i
        h: Word = SEED
        ns: Word = NO_TIME
        naive: Word = 0
        column: Word = 0
        value_column: Word = 0
        while True:
            while buf[i] == _SPACE or (buf[i] == _TAB and delimiter != _TAB):
                i += 1
            first = i
            quoted = buf[i] == _QUOTE
            if quoted:
                first = i + 1
                i += 1
                while buf[i] != _QUOTE and buf[i] != _LF:
                    i += 1
            last = i
            while buf[i] != delimiter and buf[i] != _LF:
                i += 1
            if not quoted:
                last = i
            while last > first and (buf[last - 1] == _SPACE or buf[last - 1] == _CR):
                last -= 1
            if column < num_columns:
                role = roles[column]
                if role == VALUE:
                    value, k = number_at(buf, first, last)
                    values[out, value_column] = value
                    value_column += 1
                elif role == TIME:
                    ns, k, naive = read_instant(buf, first, last)
                elif role == KEY:
                    for k in range(first, last):
                        h = mix_hash(h, buf[k])
                    h = mix_hash(h, 1)
            column += 1
            if buf[i] == _LF:
                break
            i += 1
        end = i
        i += 1
        if column < num_columns or ns == NO_TIME:
            while end > start and buf[end - 1] == _CR:
                end -= 1
            if end > start and buf[start] != _HASH and not has_same_bytes(buf, start, end, header):
                state[_BAD] += 1
                if state[_BAD] == 1:
                    state[_FIRST_BAD] = state[_LINE]
            continue
        h = finish(h)
        slot = find_slot(slots, hashes, h)
        number = np.int64(slots[slot]) - 1
        if number < 0:
            if state[_COUNT] >= room:
                continue
            hashes[state[_COUNT]] = h
            state[_COUNT] += 1
            slots[slot] = state[_COUNT]
            state[_NEW_START], state[_NEW_STOP] = start, end
            state[_POS] = start
            state[_LINE] -= 1
            return _LEARN
        rows[out] = number
        at_ns[out] = ns
        state[_ZONELESS] += naive
        state[_OUT] += 1
    state[_POS] = i
    return _DONE


def read_table(stream: Bytes, tally: Tally, node: str | None) -> Iterator[Samples]:
    """Batches of samples; ``node`` is whose they are where no column says it.

    Raises :class:`Corrupt` for a table whose first line names no column of times.
    """
    columns: Columns | None = None
    state = np.zeros(_STATE_SLOTS, np.int64)
    for chunk in iterate_line_chunks(stream, tally):
        state[_POS], state[_LINE] = 0, chunk.line - 1
        if columns is None:
            head = bytes(chunk.buffer[: chunk.cut].data)
            begin, stop = _locate_first_line(head)
            columns = parse_header(head[begin:stop])
            if columns is None or columns.time < 0:
                raise Corrupt(_NO_TIME_COLUMN)
            header = np.frombuffer(head[begin:stop].rstrip(b"\r"), np.uint8)
            state[_POS] = stop + 1
            state[_LINE] = chunk.line + head.count(b"\n", 0, stop)
            table = SeriesTable(columns.num_values, gpus=tally.gpus)
            room = max(1, BATCH // columns.num_values)
            roles = np.array(columns.roles, np.int8)
            rows, at_ns = np.empty(room, np.int64), np.empty(room, np.int64)
            values = np.empty((room, columns.num_values))
        status = _FULL
        while status != _DONE:
            table.make_room()
            status = _scan(
                chunk.buffer,
                chunk.cut,
                ord(columns.delimiter),
                roles,
                header,
                table.slots,
                table.hashes,
                rows,
                at_ns,
                values,
                state,
            )
            table.count = int(state[_COUNT])
            if status == _LEARN:
                raw = chunk.buffer[state[_NEW_START] : state[_NEW_STOP]].tobytes()
                _learn_line(table, columns, raw, node)
            elif status == _FULL:
                yield flatten_table(table, rows, at_ns, values, tally)
                state[_OUT] = 0
    count = int(state[_OUT])
    if count:
        yield flatten_table(table, rows[:count], at_ns[:count], values[:count], tally)
    tally.zoneless += int(state[_ZONELESS])
    tally.skip(NO_ROW, int(state[_BAD]), int(state[_FIRST_BAD]))
    if columns is not None and table.full:
        tally.notes.append(_TOO_MANY)


def _locate_first_line(head: bytes) -> tuple[int, int]:
    """Where the first line that is neither empty nor a comment lies."""
    begin = 0
    while begin < len(head):
        stop = head.index(b"\n", begin)
        line = head[begin:stop].strip()
        if line and not line.startswith(b"#"):
            return begin, stop
        begin = stop + 1
    return 0, max(len(head) - 1, 0)


def flatten_table(
    table: SeriesTable, rows: np.ndarray, at_ns: np.ndarray, values: np.ndarray, tally: Tally
) -> Samples:
    """Rows with several values as samples, row by row; what is no number is left out."""
    index = table.of[rows]
    good = (index >= 0) & (np.abs(values) < 1e300)
    scaled = values * table.scale[rows]
    times = np.broadcast_to(at_ns[:, None], values.shape)
    tally.samples += int(good.sum())
    return Samples(table.series, index[good], times[good], scaled[good])


def _learn_line(table: SeriesTable, columns: Columns, raw: bytes, node: str | None) -> None:
    text = raw.decode("utf-8", "replace")
    try:
        row = next(csv.reader([text], delimiter=columns.delimiter, skipinitialspace=True), [])
    except csv.Error:
        return
    learn_row(table, table.count - 1, columns, row, node)


def learn_row(
    table: SeriesTable, number: int, columns: Columns, row: list[str], node: str | None
) -> None:
    """Row ``number`` of identity has these cells: which series its values are of."""
    labels = {
        name: cell.strip()
        for name, role, cell in zip(columns.names, columns.roles, row, strict=False)
        if role == KEY
    }
    if columns.metric >= 0:
        source = find_source(labels.pop(columns.names[columns.metric], ""), labels)
        if source is not None:
            table.add(number, 0, source, labels, node)
        return
    for column, source in enumerate(columns.sources):
        table.add(number, column, source, labels, node)


# Parquet files of telemetry, wide or long, with the columns of a table of text.
#
# Parquet is read by pyarrow, which comes with ``nccl-triage[telemetry]`` alone; without it such
# a file is refused with that said. Row groups are read one after the other.

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
                yield reader.read(part, tally)
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

    def read(self, part: Any, tally: Tally) -> Samples:
        """The samples of one piece; rows without a time are left out."""
        roles = self.columns.roles
        keys = [self.words(part, k) for k, role in enumerate(roles) if role == KEY]
        at_ns = _convert_times_ns(part.column(self.names[self.columns.time]))
        values = np.column_stack(
            [self.values(part, k) for k, role in enumerate(roles) if role == VALUE]
        )
        numbers = self.numbered(keys, len(at_ns))
        good = (at_ns != _NO_TIME_NS) & (numbers >= 0)
        return flatten_table(self.table, numbers[good], at_ns[good], values[good], tally)

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
