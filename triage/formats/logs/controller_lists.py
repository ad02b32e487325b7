"""Tables of events: of a management controller, of a desk, of a search in a store of logs.

::

    Date/Time,Severity,Sensor,Description
    03/14/2026 02:39:12,Critical,Fan 4,Fan failed.
"""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.formats.logs.documents import DocumentFormat, format_line_about
from triage.parsers.logs.record_words import TITLES

_TIME_COLUMNS: Final = (
    "time stamp", "timestamp", "date/time", "date time", "datetime", "date", "time", "created",
    "last update", "event time", "last occurrence", "@timestamp", "opened at", "opened",
    "created at", "sys created on", "created on", "start time", "started at", "triggered at",
)  # fmt: skip
_WORD_COLUMNS: Final = (
    "description", "message", "event description", "event message", "event", "raw", "msg", "log",
    "line", *(one.replace("_", " ") for one in TITLES),
)  # fmt: skip
_SENSOR_COLUMNS: Final = (
    "sensor name", "sensor", "component", "source", "entity", "fru", "sensor type", "class",
)  # fmt: skip
_SEVERITY_COLUMNS: Final = ("severity", "level", "event severity")
_OF_A_CONTROLLER: Final = frozenset(
    {"sensor name", "sensor", "sensor type", "event id", "eventid", "class", "fru", "entity"}
)
_JOINTS: Final = compile_re("[ _-]+")
# "Last Update (UTC)": what a column's times are in.
_ZONE: Final = compile_re(r" ?\(([a-z]{2,5}|[+-]\d\d:?\d\d)\)$")
# Between the columns of a table that is printed for eyes.
_BLANKS: Final = compile_re(r" {2,}|\t")
_COLUMNS: Final = "  "
_HOST_COLUMNS: Final = (
    "host", "hostname", "node", "node name", "server", "system name", "bmc", "cmdb ci",
    "configuration item", "ci", "affected ci",
)  # fmt: skip
# Who opens a ticket, works on it or is to work on it.
_PEOPLE: Final = compile_re(
    r"(?im)\A.{0,400}\b(?:assign(?:ee|ed[ _]to|ment[ _]group)|opened[ _]by|reporter|requester"
    r"|caller|owner|author)\b"
)
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
    delimiter, names, index, zone = columns
    for offset, line in _iterate_whole_rows(rest, delimiter):
        cells = [cell.strip() for cell in _split_cells(line, delimiter)]
        cell = {
            what: cells[k] if k is not None and k < len(cells) else "" for what, k in index.items()
        }
        at = f"{cell['time']}{zone}"
        if cell["words"] and index["sensor"] is index["severity"] is None:
            # What has a title is an alert or a ticket, with a state.
            titled = names[index["words"] or 0] in TITLES
            said = "" if titled else cell["words"]
            more: dict[str, Any] = {}
            if titled:
                more = {name: one for name, one in zip(names, cells, strict=False) if one}
            elif cell["labels"]:
                more = {"labels": _read_labels(cell["labels"])}
            yield len(head) + 1 + offset, format_line_about(at, cell["host"], said, more)
        elif cell["words"]:
            row = format_event_row(at, cell["sensor"], cell["words"], cell["severity"])
            yield len(head) + 1 + offset, f"{cell['host']}: {row}" if cell["host"] else row


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


def _split_cells(line: str, delimiter: str) -> list[str]:
    """The cells of a row; none where it is no row, as with a carriage return inside."""
    if delimiter == _COLUMNS:
        return _BLANKS.split(line.strip())
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


def _map_table_columns(
    line: str,
) -> tuple[str, list[str], dict[str, int | None], str] | None:
    """How the columns of a list are parted, their names, what they hold, and the zone of its times
    as it stands behind them; None for any other first line.
    """
    delimiter = max(",;\t|", key=line.count)
    delimiter = delimiter if delimiter in line else _COLUMNS
    names = [one.strip(' "').lower() for one in _split_cells(line, delimiter)]
    if not 3 <= len(names) <= 24 or len(line) > 1000:
        return None
    zones = [found[1].upper() for one in names if (found := _ZONE.search(one)) is not None]
    names = [_JOINTS.sub(" ", _ZONE.sub("", one)).strip() for one in names]

    def of(known: tuple[str, ...]) -> int | None:
        return next((names.index(one) for one in known if one in names), None)

    index = {
        "time": of(_TIME_COLUMNS),
        "words": of(_WORD_COLUMNS),
        "sensor": of(_SENSOR_COLUMNS),
        "severity": of(_SEVERITY_COLUMNS),
        "host": of(_HOST_COLUMNS),
        "labels": of(("labels",)),
    }
    if index["time"] is None or index["words"] is None:
        return None
    # "Time,Level,Message" may head anything; a controller's list names sensors, classes or ids, and
    # a search in a store of logs the host that wrote.
    told = index["sensor"] is not None or index["severity"] is not None
    if not (told and _OF_A_CONTROLLER & {*names}):
        if index["host"] is index["labels"] is None:
            return None
        index["sensor"] = index["severity"] = None
    fields = [one.replace(" ", "_") for one in names]
    return delimiter, fields, index, f" {zones[0]}" if zones else ""


_US_DATE: Final = compile_re(
    r"(\d\d?)/(\d\d?)/(\d{4})[ ,T]{1,2}(\d\d?:\d\d)(:\d\d)?( ?[AP]M)?( [A-Z]{3,5}\b)?"
)
_ISO_DATE: Final = compile_re(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d:\d\d)(:\d\d)?(?:[.,]\d{1,9})?"
    r"(Z| ?[+-]\d\d:?\d\d\b| [A-Z]{3,5}\b)?"
)
_ENDED: Final = compile_re(
    r"\bde-?assert(?:ed|ion)?\b|\bis operating normally\b|\bhas returned to\b|"
    r"\b(?:is|was|been) restored\b|\breturned to normal\b|\bcleared\b|\brepaired\b",
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


EVENT_TABLE: Final = DocumentFormat(
    "event_table",
    _is_event_table,
    _iterate_table_rows,
    by_people=lambda text: _PEOPLE.match(text) is not None,
)
