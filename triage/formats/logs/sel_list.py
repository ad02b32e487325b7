"""The event log of a management controller, as ``ipmitool sel elist`` prints it, also with ``-c``.

::

       2 | 03/14/2026 | 02:39:11 UTC | Power Supply PSU3_STATUS | Power Supply AC lost | Asserted
       5 |  Pre-Init  |0000000012| Processor CPU0_STATUS | IERR | Asserted
    2,03/14/2026,02:39:11 UTC,Power Supply PSU3_STATUS,Power Supply AC lost,Asserted

Rows with commas become rows with bars, which the signatures know. A list whose times print
their zone is no log of a job; one without is dated in the zone that other logs agree on.
"""

import re
from collections.abc import Iterator
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.logs.documents import DocumentFormat

_COMMAS: Final = compile_re(
    r"[ \t]*[0-9a-fA-F]{1,6},[ \t]*(?:\d\d/\d\d/\d{2,4},[ \t]*\d\d:\d\d:\d\d[^,\n]{0,10}"
    r"|Pre-Init[^,\n]{0,20},[^,\n]{0,20}),[^,\n]{1,120},[^\n]{1,300}$"
)
_BARS: Final = compile_re(
    r"[ \t]*[0-9a-fA-F]{1,6} \|(?: \d\d/\d\d/\d{2,4} \| \d\d:\d\d:\d\d[^|\n]{0,10}\|"
    r"| {0,4}Pre-?Init|[ ]OEM record)[^\n]{0,400}$"
)
_STATE: Final = compile_re(r"[,|] ?(?:Asserted|Deasserted)\b")
_ZONED: Final = compile_re(r"\d\d:\d\d:\d\d (?:[A-Z]{3,5}|[+-]\d\d:?\d\d)\b")
_LOOKED_AT: Final = 16 << 10
_MOST_OTHERS: Final = 0.1


def is_sel_row(line: str) -> bool:
    """Whether a line is a row of the list."""
    return (_COMMAS.match(line) or _BARS.match(line)) is not None


def has_event_state(text: str) -> bool:
    """Whether a row says that its event begins or ends."""
    return _STATE.search(text) is not None


def _is_sel_list(text: str) -> bool:
    """Whether a row comes first, nearly all lines are rows, and one of them says its state."""
    first = text.partition("\n")[0].rstrip("\r")
    if not is_sel_row(first):
        return False
    looked = text[:_LOOKED_AT]
    lines = [line.rstrip("\r") for line in looked.split("\n") if line.strip()]
    if len(text) > _LOOKED_AT:
        lines.pop()  # it may be cut
    others = sum(not is_sel_row(line) for line in lines)
    return others <= _MOST_OTHERS * len(lines) and has_event_state(looked)


def _has_printed_zone(text: str) -> bool:
    """Whether its times may be placed by themselves."""
    return _ZONED.search(text) is not None


def _iterate_list_rows(text: str) -> Iterator[tuple[int, str]]:
    """Rows with bars; other lines as they are."""
    offset = 0
    for line in text.split("\n"):
        row = line.rstrip("\r")
        if _COMMAS.match(row):
            yield offset, " | ".join(cell.strip() for cell in row.split(","))
        elif row.strip():
            yield offset, row
        offset += len(line) + 1


# ``ipmitool sel list -v`` and ``sel get``: a block a record.
_RECORD: Final = compile_re(r"^SEL Record ID\s{1,20}: (?P<id>[0-9a-f]{1,6})\s*$", re.M)
_RECORD_FIELD: Final = compile_re(
    r"^ ?(?P<name>Timestamp|Sensor Type|Sensor Number|Event Direction|Description|Sensor ID)"
    r"\s{1,20}: ?(?P<value>[^\n]{0,160})$",
    re.M,
)
_MOST_RECORD: Final = 4000
_IN_RECORD: Final = compile_re(
    r"(?P<day>\d\d/\d\d/\d{2,4})[ |]{1,3}(?P<clock>\d\d:\d\d:\d\d(?: [A-Z]{3,5}| ?[+-]\d\d:?\d\d)?)"
)


def _is_verbose(text: str) -> bool:
    """Whether a record comes that says in which direction its event went."""
    found = _RECORD.search(text) if "Event Direction" in text else None
    return found is not None and "Event Direction" in text[found.start() :]


def _iterate_record_rows(text: str) -> Iterator[tuple[int, str]]:
    """Each record as a row with bars; one that breaks off is none."""
    starts = [found.start() for found in _RECORD.finditer(text)]
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        block = text[start : min(stop, start + _MOST_RECORD)]
        cell = {name: value.strip() for name, value in _RECORD_FIELD.findall(block)}
        direction, words = cell.get("Event Direction", ""), cell.get("Description", "")
        number = _RECORD.match(block)
        if number is None or not words or "ssertion Event" not in direction:
            continue
        at = _IN_RECORD.search(cell.get("Timestamp", ""))
        when = f"{at['day']} | {at['clock']}" if at else "Pre-Init | 0000000000"
        name = cell.get("Sensor ID") or f"#0x{cell.get('Sensor Number', '??')}"
        state = "Deasserted" if direction.startswith("Deassert") else "Asserted"
        sensor = f"{cell.get('Sensor Type', '')} {name}".replace("|", "/").strip()
        yield start, f"{number['id']} | {when} | {sensor} | {words.replace('|', '/')} | {state}"


SEL_VERBOSE: Final = DocumentFormat(
    "sel_verbose", _is_verbose, _iterate_record_rows, _has_printed_zone
)
SEL_LIST: Final = DocumentFormat("sel_list", _is_sel_list, _iterate_list_rows, _has_printed_zone)
