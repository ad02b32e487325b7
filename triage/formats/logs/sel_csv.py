"""``ipmitool -c sel elist``: the event log of a management controller with commas.

::

    2,03/14/2026,02:39:11 UTC,Power Supply PSU3_STATUS,Power Supply AC lost,Asserted
    5,Pre-Init,0000000012,Processor CPU0_STATUS,IERR,Asserted

Each row becomes one of ``ipmitool sel elist``, whose bars the signatures know.
"""

import re
from collections.abc import Iterator
from typing import Final

from triage.formats.logs.documents import DocumentFormat

__all__ = ["SEL_CSV"]

ROW: Final = re.compile(
    r"[ \t]*[0-9a-fA-F]{1,6},[ \t]*(?:\d\d/\d\d/\d{2,4},[ \t]*\d\d:\d\d:\d\d[^,\n]{0,10}"
    r"|Pre-Init[^,\n]{0,20},[^,\n]{0,20}),[^,\n]{1,120},[^\n]{1,300}$",
    re.MULTILINE,
)
STATE: Final = re.compile(r",(?:Asserted|Deasserted)\b")


def is_sel_csv(text: str) -> bool:
    """Whether the first line is a row of such a list, and one of the first says its state."""
    return ROW.match(text) is not None and STATE.search(text[:8000]) is not None


def rows_of(text: str) -> Iterator[tuple[int, str]]:
    """Rows with bars in the place of commas; other lines as they are."""
    offset = 0
    for line in text.split("\n"):
        row = line.rstrip("\r")
        if ROW.match(row):
            yield offset, " | ".join(cell.strip() for cell in row.split(","))
        elif row.strip():
            yield offset, row
        offset += len(line) + 1


SEL_CSV: Final = DocumentFormat("sel_csv", is_sel_csv, rows_of)
