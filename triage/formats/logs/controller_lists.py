"""Tables of events: of a management controller, of a desk, of a search in a store of logs.

::

    Date/Time,Severity,Sensor,Description
    03/14/2026 02:39:12,Critical,Fan 4,Fan failed.
"""

import csv
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from triage.domain.patterns import compile_re
from triage.formats.logs.documents import DocumentFormat, choose_time, format_line_about
from triage.parsers.logs.record_fields import (
    TIMES,
    WORDS,
    Holds,
    find_host,
    list_values,
    name_field,
    read_fields,
)

_JOINTS: Final = compile_re("[ _-]+")
# "Last Update (UTC)": what a column's times are in.
_ZONE: Final = compile_re(r" ?\(([a-z]{2,5}|[+-]\d\d:?\d\d)\)$")
# Between the columns of a table that is printed for eyes.
_BLANKS: Final = compile_re(r" {2,}|\t")
_COLUMNS: Final = "  "
# What a line about a node bears under names of its own.
_TAKEN: Final = frozenset({*TIMES, Holds.HOST, Holds.SUBJECT, Holds.MESSAGE})
_LEAST_COLUMNS: Final = 3
_MOST_COLUMNS: Final = 100
_MOST_HEAD: Final = 4000
# A cell may have so many lines.
_MOST_LINES: Final = 200


def _is_event_table(text: str) -> bool:
    """Whether the first line names the columns of a controller's list."""
    if text.startswith(("{", "[")):
        return False
    return _map_table_columns(text.partition("\n")[0]) is not None


def _iterate_table_rows(text: str) -> Iterator[tuple[int, str]]:
    """The rows of an event list, or of tickets and searches, that was saved as a table."""
    head, _, rest = text.partition("\n")
    columns = _map_table_columns(head.lstrip("\ufeff"))
    if columns is None:
        return
    for offset, line in _iterate_whole_rows(rest, columns.delimiter):
        cells = [cell.strip() for cell in split_cells(line, columns.delimiter)]
        if row := _format_row(columns, cells):
            yield len(head) + 1 + offset, row


class _Columns(NamedTuple):
    """How the columns of a list are parted, their names, the zone of its times as it stands behind
    them, and whether its rows are events of a controller.
    """

    delimiter: str
    names: list[str]
    zone: str
    of_controller: bool
    by_people: bool


def _format_row(columns: _Columns, cells: list[str]) -> str:
    """A row as an event of a controller, or as the object that its columns name."""
    record: dict[str, Any] = {
        name: cell for name, cell in zip(columns.names, cells, strict=False) if cell
    }
    fields = read_fields(record)
    words = list_values(fields, *WORDS)
    if not words:
        return ""
    at = choose_time(list_values(fields, *TIMES)) + columns.zone
    host = find_host(fields) or ""
    if columns.of_controller:
        part = next(iter(fields.get(Holds.PART, ())), "")
        grade = next(iter(fields.get(Holds.GRADE, ())), "")
        row = format_event_row(at, part, words[0], grade)
        return f"{host}: {row}" if host else row
    for name in [name for name in record if not _TAKEN.isdisjoint(dict(name_field(name)))]:
        del record[name]
    if "labels" in record:
        record["labels"] = _read_labels(record["labels"])
    # Of a title the record is an alert or a ticket, whose other fields describe it.
    said = "" if Holds.TITLE in fields and Holds.MESSAGE not in fields else words[0]
    return format_line_about(at, host, said, record)


def _read_labels(cell: str) -> dict[str, Any]:
    """The labels of a stream as Grafana exports them: ``{"pod": "llm-0", "node": "gpu-17"}``."""
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _iterate_whole_rows(text: str, delimiter: str) -> Iterator[tuple[int, str]]:
    """(offset, row): a line, or several where a quoted cell goes on in the next one."""
    offset, begun, count = 0, "", 0
    for line in text.split("\n"):
        begun = f"{begun}\n{line}" if count else line
        count += 1
        if delimiter != _COLUMNS and begun.count('"') % 2 and count < _MOST_LINES:
            continue
        yield offset, begun
        offset += len(begun) + 1
        count = 0


def split_cells(line: str, delimiter: str) -> list[str]:
    """The cells of a row; none where it is no row, as with a carriage return inside."""
    if not delimiter.strip():
        return line.split() if delimiter == " " else _BLANKS.split(line.strip())
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


def split_heading(line: str) -> tuple[str, list[str]]:
    """How the columns of a heading are parted, and their names in small letters."""
    delimiter = max(",;\t|", key=line.count)
    if delimiter not in line:
        delimiter = _COLUMNS if _COLUMNS in line.strip() else " "
    return delimiter, [one.strip(' "').lower() for one in split_cells(line, delimiter)]


@lru_cache(maxsize=64)
def _map_table_columns(line: str) -> _Columns | None:
    """The columns that a first line names; None for any other first line."""
    delimiter, names = split_heading(line)
    if delimiter == " ":
        return None
    if not _LEAST_COLUMNS <= len(names) <= _MOST_COLUMNS or len(line) > _MOST_HEAD:
        return None
    zones = [found[1].upper() for one in names if (found := _ZONE.search(one)) is not None]
    names = [_JOINTS.sub("_", _ZONE.sub("", one)).strip("_") for one in names]
    fields = read_fields({name: name for name in names})
    if not list_values(fields, *TIMES) or not list_values(fields, *WORDS):
        return None
    # "Time,Level,Message" may head anything; a controller's list names sensors, classes or ids, a
    # search in a store of logs the host that wrote, and a list of tickets states or who works.
    of_controller = Holds.CONTROLLER in fields and bool(
        list_values(fields, Holds.PART, Holds.GRADE)
    )
    is_kept = Holds.TITLE in fields and not fields.keys().isdisjoint({Holds.STATE, Holds.KEEPER})
    names_host = not fields.keys().isdisjoint({Holds.HOST, Holds.SUBJECT})
    if not (of_controller or is_kept or names_host or "labels" in names):
        return None
    zone = f" {zones[0]}" if zones else ""
    return _Columns(delimiter, names, zone, of_controller, Holds.KEEPER in fields)


_US_DATE: Final = compile_re(
    r"(\d\d?)/(\d\d?)/(\d{4})[ ,T]{1,2}(\d\d?:\d\d)(:\d\d)?( ?[AP]M)?( [A-Z]{3,5}\b)?"
)
_ISO_DATE: Final = compile_re(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d:\d\d)(:\d\d)?(?:[.,]\d{1,9})?"
    r"(Z| ?[+-]\d\d:?\d\d\b| [A-Z]{3,5}\b)?"
)
_ENDED: Final = compile_re(
    r"\bde-?assert(?:ed|ion)?\b|\bis operating normally\b|\b(?:has )?returned to\b|\brestored\b"
    r"|\bcleared\b|\brepaired\b",
    re.IGNORECASE,
)
_WELL: Final = frozenset({"ok", "repaired", "cleared", "normal", "resolved"})
_SENSOR_FIRST: Final = compile_re(r"(?P<sensor>[A-Z][\w ./#()-]{2,60}?): (?=\S)")


def format_event_row(
    at: str, sensor: str, words: str, severity: str, *, ended: bool = False
) -> str:
    """``1 | 03/14/2026 | 02:39:12 | Fan FAN4 | Lower Critical going low | Asserted | ...``.

    In the form of ``ipmitool sel elist``, with the severity behind it where the list has one.
    """
    first = _SENSOR_FIRST.match(words)
    if first is not None and (not sensor or first["sensor"].lower().startswith(sensor.lower()[:8])):
        sensor, words = first["sensor"], words[first.end() :]
    if ended or _ENDED.search(words) or severity.lower() in _WELL:
        state = "Deasserted"
    else:
        state = "Asserted"
    words = re.sub(r" - (?:de)?assert(?:ed|ion)\b", "", words, flags=re.IGNORECASE)
    row = (
        f"{_parse_event_date(at)} | {sensor.replace('|', '/')} | {words.replace('|', '/')} |"
        f" {state}"
    )
    return f"{row} | severity {severity.lower()}" if severity else row


def _parse_event_date(text: str) -> str:
    """A date as event lists print it: ``1 | 03/14/2026 | 02:39:12 UTC``."""
    found = _US_DATE.search(text)
    if found is not None:
        month, day, year, minute, second, half, zone = found.groups()
        clock = f"{minute}{second or ':00'}{' ' + half.strip() if half else ''}{zone or ''}"
        return f"1 | {int(month):02d}/{int(day):02d}/{year} | {clock}"
    found = _ISO_DATE.search(text)
    if found is not None:
        year, month, day, minute, second, zone = found.groups()
        shown = " UTC" if zone in ("Z", "+00:00", "+0000") else f" {zone.strip()}" if zone else ""
        return f"1 | {month}/{day}/{year} | {minute}{second or ':00'}{shown}"
    return "1 | Pre-Init | 0000000000"


def _is_by_people(text: str) -> bool:
    """Whether somebody opened the tickets of a list, or works on them."""
    columns = _map_table_columns(text.partition("\n")[0].lstrip("\ufeff"))
    return columns is not None and columns.by_people


EVENT_TABLE: Final = DocumentFormat(
    "event_table", _is_event_table, _iterate_table_rows, by_people=_is_by_people
)
