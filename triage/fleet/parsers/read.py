"""Any export of exposure, known by its content: its format, and its rows one after the other.

A table is known by the names in its first line, a log and a listing by how their first line
begins, a JSON document by the keys of its objects. The name of a file says nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol

from triage.domain.patterns import compile_re
from triage.errors import UnknownFormat
from triage.fleet.parsers.hardware import HardwareReader, InventoryReader
from triage.fleet.parsers.json_document import read_document
from triage.fleet.parsers.kubernetes import object_list
from triage.fleet.parsers.lines import (
    Line,
    Source,
    find_delimiter,
    iterate_source_lines,
    join_whole_rows,
    split_fields,
)
from triage.fleet.parsers.outage_table import OutageReader
from triage.fleet.parsers.rows import Columns, Options, Row, RowError, Unread, shorten_foreign_text
from triage.fleet.parsers.run_table import RunReader
from triage.fleet.parsers.sacct import SacctReader
from triage.fleet.parsers.slurm import controller_log, node_list
from triage.fleet.parsers.tickets import TicketReader

_MOST_CHARS: Final = 2000
_HEADER: Final = compile_re(r"(?=.*\bNode ?Name\b)(?=.*\b(?:Time)?Start\b)[A-Za-z ]+")
_RULE: Final = compile_re(r"\s*-+(?: +-+)+\s*")


def is_padded_header(line: str) -> bool:
    """Whether a first line names the columns of events."""
    return len(line) <= _MOST_CHARS and _HEADER.fullmatch(line.strip()) is not None


class PaddedTable:
    """The columns of a padded table by place; ``names`` is empty where its rule is missing.

    ``sacctmgr show event`` prints one of its own accord: names, a line of dashes that says how
    wide each column is, and rows cut to it.
    """

    def __init__(self, header: str, rule: str) -> None:
        self.spans = (
            [slice(*match.span()) for match in re.finditer("-+", rule)]
            if len(rule) <= _MOST_CHARS and _RULE.fullmatch(rule)
            else []
        )
        self.names = self.fields(header)

    def fields(self, text: str) -> list[str]:
        """The fields of a row; the last one may be wider than its column."""
        fields = [text[span].strip() for span in self.spans]
        if fields:
            fields[-1] = text[self.spans[-1].start :].strip()
        return fields

    def rows(self, lines: Iterable[Line]) -> Iterator[tuple[int, list[str] | None]]:
        """Rows with their lines; None for a line that is too long."""
        for number, text in lines:
            if text is None or text.strip():
                yield number, None if text is None else self.fields(text)


_HEAD: Final = 4096
# A list of objects; a log's first line begins with a bracket as well.
JSON: Final = compile_re(rb"\s*(?:\{|\[\s*(?:\{|\]|\Z))")
_BARE_SINFO: Final = compile_re(r"REASON\s+USER\s+TIMESTAMP\s+NODELIST\s*")
# Not responding       root      2026-11-20T22:00:00 gpu[003,007]
_SINFO_ROW: Final = compile_re(r"(.*?)\s+(\S+)\s+(\d{4}-\d\d-\d\dT\S+|Unknown)\s+(\S+)\s*")


class _Reader(Protocol):
    """A format of tables."""

    name: str

    def __init__(self, columns: Columns, options: Options) -> None: ...

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:
        """Whether the header is one of this format."""
        ...

    def rows(self, fields: Sequence[str]) -> Iterable[Row]:
        """What one row says. Raises :class:`RowError`."""
        ...


# The first that claims a header has it: the narrower ones come first.
_READERS: Final[tuple[type[_Reader], ...]] = (
    SacctReader,
    RunReader,
    HardwareReader,
    InventoryReader,
    OutageReader,
    TicketReader,
)
_LISTINGS: Final = (object_list.NAME, controller_log.NAME, node_list.NAME)
FORMATS: Final = (*(one.name for one in _READERS), *_LISTINGS)


@dataclass(frozen=True, slots=True)
class Reading:
    """``rows`` can be gone through once; each reads on in the source."""

    format: str
    rows: Iterator[Row]


class _Ahead:
    """A source of which the first bytes were looked at already."""

    def __init__(self, head: bytes, source: Source) -> None:
        self.head = head
        self.source = source

    def read(self, size: int, /) -> bytes:
        """As the source: first what was looked at."""
        if not self.head:
            return self.source.read(size)
        part, self.head = self.head[:size], self.head[size:]
        return part


def read_exposure(source: Source, options: Options | None = None) -> Reading:
    """The format of an export, and its rows.

    Raises :class:`UnknownFormat` for what is none, and :class:`Corrupt` or :class:`Forbidden`
    for JSON that is broken or too long.
    """
    options = options or Options()
    head = b""
    while len(head) < _HEAD and (piece := source.read(_HEAD - len(head))):
        head += piece
    whole = _Ahead(head, source)
    if JSON.match(head.removeprefix(b"\xef\xbb\xbf")):
        return _read_objects(whole, options)
    lines = iterate_source_lines(whole)
    number, header = _find_first_line(lines)
    return _read_listing((number, header), lines, options) or _read_table(
        (number, header), lines, options
    )


def _read_objects(source: Source, options: Options) -> Reading:
    value = read_document(source, sparing=options.sparing)
    if object_list.is_object_list(value):
        return Reading(object_list.NAME, object_list.iterate_object_rows(value, options))
    raise UnknownFormat(
        "it is JSON, and no list of Kubernetes objects (kubectl get ... -o json); tickets are read"
        " as the CSV that a tracker exports"
    )


def _read_listing(
    first: tuple[int, str], lines: Iterator[Line], options: Options
) -> Reading | None:
    """What is no table: the controller's log, nodes block by block, columns that are padded."""
    header = first[1]
    if controller_log.is_controller_log(header):
        rows = controller_log.log_rows(chain((first,), lines), options)
        return Reading(controller_log.NAME, rows)
    if node_list.is_node_list(header):
        return Reading(node_list.NAME, node_list.iterate_node_rows(chain((first,), lines), options))
    if _BARE_SINFO.fullmatch(header):
        reader = OutageReader(Columns(["reason", "user", "timestamp", "nodelist"]), options)
        return Reading(reader.name, _iterate_sinfo_rows(reader, lines))
    if is_padded_header(header):
        table = PaddedTable(header, (next(lines, (0, ""))[1]) or "")
        columns = Columns(table.names)
        if OutageReader.claims(columns, ""):
            events = OutageReader(columns, options)
            return Reading(events.name, _iterate_padded_rows(events, columns, table, lines))
    return None


def _read_table(first: tuple[int, str], lines: Iterator[Line], options: Options) -> Reading:
    number, header = first
    delimiter = find_delimiter(header)
    columns = Columns(_split_names(header, delimiter))
    for kind in _READERS:
        if delimiter is not None and kind.claims(columns, delimiter):
            table = kind(columns, options)
            rows = join_whole_rows(lines) if kind is TicketReader else lines
            return Reading(table.name, _iterate_table_rows(table, columns, delimiter, rows))
    raise UnknownFormat(
        f"line {number}: {shorten_foreign_text(header)} is no header that we know: sacct"
        f" --parsable2 with JobID,"
        " State, Start and End; a table with job_id and started_at, with node and rack, with"
        " node, kind and identity, with node and from, or of tickets with a title and a time;"
        " slurmctld.log; scontrol show node; or kubectl get -o json"
    )


def _find_first_line(lines: Iterator[Line]) -> tuple[int, str]:
    """The first line that holds something."""
    for number, text in lines:
        if text is None:
            raise UnknownFormat(f"line {number} is too long to be a header")
        if text.strip():
            return number, text
    raise UnknownFormat("it is empty")


def _split_names(header: str, delimiter: str | None) -> list[str]:
    try:
        return split_fields(header, delimiter or ",")
    except RowError:
        return []


def _iterate_table_rows(
    reader: _Reader, columns: Columns, delimiter: str, lines: Iterator[Line]
) -> Iterator[Row]:
    free = reader.reason if isinstance(reader, OutageReader) and delimiter == "|" else None
    for number, text in lines:
        if text is None:
            yield Unread(number, "the line is too long")
        elif text.strip():
            try:
                yield from reader.rows(columns.checked(split_fields(text, delimiter), free))
            except RowError as error:
                yield Unread(number, str(error))


def _iterate_padded_rows(
    reader: _Reader, columns: Columns, table: PaddedTable, lines: Iterator[Line]
) -> Iterator[Row]:
    for number, fields in table.rows(lines):
        if fields is None:
            yield Unread(number, "the line is too long")
            continue
        try:
            yield from reader.rows(columns.checked(fields))
        except RowError as error:
            yield Unread(number, str(error))


def _iterate_sinfo_rows(reader: _Reader, lines: Iterator[Line]) -> Iterator[Row]:
    """What ``sinfo -R`` prints of its own accord, parted by blanks."""
    for number, text in lines:
        if text is None or not text.strip():
            continue
        match = _SINFO_ROW.fullmatch(text)
        if match is None:
            yield Unread(number, "it is no row of sinfo -R")
            continue
        try:
            yield from reader.rows(match.groups())
        except RowError as error:
            yield Unread(number, str(error))
