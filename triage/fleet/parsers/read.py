"""Any export of exposure, known by its content: its format, and its rows one after the other.

A table is known by the names in its first line, a Kubernetes list by its first character and
its kind. The name of a file says nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from triage.errors import UnknownFormat
from triage.fleet.parsers.acme import AcmeReader
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.inventory import InventoryReader
from triage.fleet.parsers.kubernetes import kubernetes_rows
from triage.fleet.parsers.lines import Line, Source, delimiter_of, fields_in, lines_of
from triage.fleet.parsers.outage_table import OutageReader
from triage.fleet.parsers.rows import Options, Row, RowError, Unread, short
from triage.fleet.parsers.run_table import RunReader
from triage.fleet.parsers.sacct import SacctReader

__all__ = ["FORMATS", "Reading", "read_exposure"]

HEAD: Final = 4096
KUBERNETES: Final = "kubernetes"
BARE_SINFO: Final = re.compile(r"REASON\s+USER\s+TIMESTAMP\s+NODELIST\s*")
# Not responding       root      2026-11-20T22:00:00 gpu[003,007]
SINFO_ROW: Final = re.compile(r"(.*?)\s+(\S+)\s+(\d{4}-\d\d-\d\dT\S+|Unknown)\s+(\S+)\s*")


class Reader(Protocol):
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
READERS: Final[tuple[type[Reader], ...]] = (
    *(SacctReader, AcmeReader, RunReader),
    *(InventoryReader, OutageReader),
)
FORMATS: Final = (*(reader.name for reader in READERS), KUBERNETES)


@dataclass(frozen=True, slots=True)
class Reading:
    """``rows`` can be gone through once; each reads on in the source."""

    format: str
    rows: Iterator[Row]


class Ahead:
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
    for a Kubernetes list that is broken or too long.
    """
    options = options or Options()
    head = b""
    while len(head) < HEAD and (piece := source.read(HEAD - len(head))):
        head += piece
    whole = Ahead(head, source)
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        return Reading(KUBERNETES, kubernetes_rows(whole, options))
    lines = lines_of(whole)
    number, header = first_line(lines)
    if BARE_SINFO.fullmatch(header):
        reader: Reader = OutageReader(Columns(["reason", "user", "timestamp", "nodelist"]), options)
        return Reading(reader.name, sinfo_rows(reader, lines))
    delimiter = delimiter_of(header)
    columns = Columns(names_in(header, delimiter))
    for kind in READERS:
        if delimiter is not None and kind.claims(columns, delimiter):
            table = kind(columns, options)
            return Reading(table.name, table_rows(table, columns, delimiter, lines))
    raise UnknownFormat(
        f"line {number}: {short(header)} is no header that we know: sacct --parsable2 with JobID,"
        " State, Start and End; a table with job_id and started_at, with node and rack, or with"
        " node and from; a job table of AcmeTrace; or kubectl get -o json"
    )


def first_line(lines: Iterator[Line]) -> tuple[int, str]:
    """The first line that holds something."""
    for number, text in lines:
        if text is None:
            raise UnknownFormat(f"line {number} is too long to be a header")
        if text.strip():
            return number, text
    raise UnknownFormat("it is empty")


def names_in(header: str, delimiter: str | None) -> list[str]:
    try:
        return fields_in(header, delimiter or ",")
    except RowError:
        return []


def table_rows(
    reader: Reader, columns: Columns, delimiter: str, lines: Iterator[Line]
) -> Iterator[Row]:
    for number, text in lines:
        if text is None:
            yield Unread(number, "the line is too long")
        elif text.strip():
            try:
                yield from reader.rows(columns.checked(fields_in(text, delimiter)))
            except RowError as error:
                yield Unread(number, str(error))


def sinfo_rows(reader: Reader, lines: Iterator[Line]) -> Iterator[Row]:
    """What ``sinfo -R`` prints of its own accord, parted by blanks."""
    for number, text in lines:
        if text is None or not text.strip():
            continue
        match = SINFO_ROW.fullmatch(text)
        if match is None:
            yield Unread(number, "it is no row of sinfo -R")
            continue
        try:
            yield from reader.rows(match.groups())
        except RowError as error:
            yield Unread(number, str(error))
