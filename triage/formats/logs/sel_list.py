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

from triage.formats.logs.documents import DocumentFormat

__all__ = ["SEL_LIST"]

COMMAS: Final = re.compile(
    r"[ \t]*[0-9a-fA-F]{1,6},[ \t]*(?:\d\d/\d\d/\d{2,4},[ \t]*\d\d:\d\d:\d\d[^,\n]{0,10}"
    r"|Pre-Init[^,\n]{0,20},[^,\n]{0,20}),[^,\n]{1,120},[^\n]{1,300}$"
)
BARS: Final = re.compile(
    r"[ \t]*[0-9a-fA-F]{1,6} \|(?: \d\d/\d\d/\d{2,4} \| \d\d:\d\d:\d\d[^|\n]{0,10}\|"
    r"| {0,4}Pre-?Init|[ ]OEM record)[^\n]{0,400}$"
)
STATE: Final = re.compile(r"[,|] ?(?:Asserted|Deasserted)\b")
ZONED: Final = re.compile(r"\d\d:\d\d:\d\d (?:[A-Z]{3,5}|[+-]\d\d:?\d\d)\b")
LOOKED_AT: Final = 16 << 10
MOST_OTHERS: Final = 0.1


def is_sel_list(text: str) -> bool:
    """Whether a row comes first, nearly all lines are rows, and one of them says its state."""
    first = text.partition("\n")[0].rstrip("\r")
    if not (COMMAS.match(first) or BARS.match(first)):
        return False
    looked = text[:LOOKED_AT]
    lines = [line.rstrip("\r") for line in looked.split("\n") if line.strip()]
    if len(text) > LOOKED_AT:
        lines.pop()  # it may be cut
    others = sum(not (COMMAS.match(line) or BARS.match(line)) for line in lines)
    return others <= MOST_OTHERS * len(lines) and STATE.search(looked) is not None


def prints_its_zone(text: str) -> bool:
    """Whether its times may be placed by themselves."""
    return ZONED.search(text) is not None


def rows_of(text: str) -> Iterator[tuple[int, str]]:
    """Rows with bars; other lines as they are."""
    offset = 0
    for line in text.split("\n"):
        row = line.rstrip("\r")
        if COMMAS.match(row):
            yield offset, " | ".join(cell.strip() for cell in row.split(","))
        elif row.strip():
            yield offset, row
        offset += len(line) + 1


SEL_LIST: Final = DocumentFormat("sel_list", is_sel_list, rows_of, prints_its_zone)
