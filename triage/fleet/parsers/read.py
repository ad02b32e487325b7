"""Any export of exposure, known by its content: its format, and its rows one after the other.

A table is known by the names in its first line, a log and a listing by how their first line
begins, a JSON document by the keys of its objects. The name of a file says nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

from triage.domain.patterns import compile_re
from triage.errors import UnknownFormat
from triage.fleet.parsers import kubernetes, slurm
from triage.fleet.parsers.lines import (
    Line,
    Source,
    find_delimiter,
    iterate_source_lines,
    join_whole_rows,
    split_fields,
)
from triage.fleet.parsers.rows import (
    Columns,
    Options,
    Row,
    RowError,
    TableReader,
    Unread,
    shorten_foreign_text,
)
from triage.fleet.parsers.tables import (
    HardwareReader,
    InventoryReader,
    OutageReader,
    RunReader,
    SacctReader,
    TicketReader,
)

_HEAD: Final = 4096
_PIECE: Final = 1 << 18
_MOST_CHARS: Final = 2000
# A list of objects; a log's first line begins with a bracket as well.
_JSON: Final = compile_re(rb"\s*(?:\{|\[\s*(?:\{|\]|\Z))")
# `sacctmgr show event` prints names, a line of dashes that says how wide each column is, and rows
# cut to it, but for the last field.
_PADDED: Final = compile_re(r"(?=.*\bNode ?Name\b)(?=.*\b(?:Time)?Start\b)[A-Za-z ]+")
_RULE: Final = compile_re(r"\s*-+(?: +-+)+\s*")
# What `sinfo -R` prints of its own accord, parted by blanks.
_BARE_SINFO: Final = compile_re(r"REASON\s+USER\s+TIMESTAMP\s+NODELIST\s*")
# Not responding       root      2026-11-20T22:00:00 gpu[003,007]
_SINFO_ROW: Final = compile_re(r"(.*?)\s+(\S+)\s+(\d{4}-\d\d-\d\dT\S+|Unknown)\s+(\S+)\s*")
# The first that claims a header has it: the narrower ones come first.
_READERS: Final[tuple[type[TableReader], ...]] = (
    SacctReader,
    RunReader,
    HardwareReader,
    InventoryReader,
    OutageReader,
    TicketReader,
)
FORMATS: Final = (*(one.name for one in _READERS), kubernetes.NAME, slurm.LOG, slurm.LISTING)


@dataclass(frozen=True, slots=True)
class Reading:
    """``rows`` can be gone through once; each reads on in the source."""

    format: str
    rows: Iterator[Row]


def read_exposure(source: Source, options: Options | None = None) -> Reading:
    """The format of an export, and its rows.

    Raises :class:`UnknownFormat` for what is none, and :class:`Corrupt` or :class:`Forbidden`
    for JSON that is broken or too long.
    """
    options = options or Options()
    head = b""
    while len(head) < _HEAD and (piece := source.read(_HEAD - len(head))):
        head += piece
    pieces = chain([head], iter(partial(source.read, _PIECE), b""))
    if _JSON.match(head.removeprefix(b"\xef\xbb\xbf")):
        value = kubernetes.read_document(pieces, sparing=options.sparing)
        if kubernetes.is_object_list(value):
            return Reading(kubernetes.NAME, kubernetes.iterate_object_rows(value, options))
        raise UnknownFormat(
            "it is JSON, and no list of Kubernetes objects (kubectl get ... -o json); tickets are"
            " read as the CSV that a tracker exports"
        )
    lines = iterate_source_lines(pieces)
    number, header = _find_first_line(lines)
    whole = chain([(number, header)], lines)
    if slurm.is_controller_log(header):
        return Reading(slurm.LOG, slurm.iterate_log_rows(whole, options))
    if slurm.is_node_list(header):
        return Reading(slurm.LISTING, slurm.iterate_node_rows(whole, options))
    return _read_table(number, header, lines, options)


def _find_first_line(lines: Iterator[Line]) -> tuple[int, str]:
    """The first line that holds something."""
    for number, text in lines:
        if text is None:
            raise UnknownFormat(f"line {number} is too long to be a header")
        if text.strip():
            return number, text
    raise UnknownFormat("it is empty")


def _read_table(number: int, header: str, lines: Iterator[Line], options: Options) -> Reading:
    """A table by its header, whose columns are parted by a character, or padded."""
    delimiter = find_delimiter(header) or ""
    split: _Split = partial(split_fields, delimiter=delimiter)
    names: Sequence[str] = []
    if _BARE_SINFO.fullmatch(header):
        split, names = _split_sinfo_row, header.split()
    elif len(header) <= _MOST_CHARS and _PADDED.fullmatch(header.strip()):
        rule = next(lines, (0, ""))[1] or ""
        is_rule = len(rule) <= _MOST_CHARS and _RULE.fullmatch(rule) is not None
        starts = [slice(*match.span()) for match in re.finditer("-+", rule)] if is_rule else []
        split = partial(_split_padded_row, spans=starts)
        names = split(header)
    elif delimiter:
        try:
            names = split(header)
        except RowError:
            names = []
    columns = Columns(names)
    for kind in _READERS:
        if names and kind.claims(columns, delimiter):
            reader = kind(columns, options)
            rows = join_whole_rows(lines) if kind is TicketReader else lines
            free = columns.first(kind.free) if kind.free and delimiter == "|" else None
            return Reading(reader.name, _iterate_rows(reader, rows, split, free))
    raise UnknownFormat(
        f"line {number}: {shorten_foreign_text(header)} is no header that we know: sacct"
        f" --parsable2 with JobID,"
        " State, Start and End; a table with job_id and started_at, with node and rack, with"
        " node, kind and identity, with node and from, or of tickets with a title, a node and a"
        " time; slurmctld.log; scontrol show node; or kubectl get -o json"
    )


_Split = Callable[[str], Sequence[str]]


def _split_padded_row(text: str, spans: Sequence[slice]) -> list[str]:
    """The fields of a row; the last one may be wider than its column."""
    wide = [*spans[:-1], *(slice(span.start, None) for span in spans[-1:])]
    return [text[span].strip() for span in wide]


def _split_sinfo_row(text: str) -> Sequence[str]:
    match = _SINFO_ROW.fullmatch(text)
    if match is None:
        raise RowError("it is no row of sinfo -R")
    return match.groups()


def _iterate_rows(
    reader: TableReader, lines: Iterator[Line], split: _Split, free: int | None
) -> Iterator[Row]:
    for number, text in lines:
        if text is None:
            yield Unread(number, "the line is too long")
        elif text.strip():
            try:
                yield from reader.iterate_rows(reader.columns.check(split(text), free))
            except RowError as error:
                yield Unread(number, str(error))
