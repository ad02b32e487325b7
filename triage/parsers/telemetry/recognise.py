"""Which files are telemetry, by their first bytes and never by name.

A job's log is never claimed: every whole line of the first bytes has to be a line of the
format, or the first line has to name columns that only telemetry has.

Every upload is looked at here, so nothing that is compiled is imported: readers are loaded by
who reads.
"""

import re
from enum import StrEnum
from typing import Final

from triage.parsers.telemetry.columns import header_of
from triage.parsers.telemetry.metrics import metric_named

__all__ = ["Form", "form_of", "is_parquet"]


class Form(StrEnum):
    """How a file of telemetry is written."""

    EXPOSITION = "exposition"
    QUERY_RESULT = "query_result"
    TABLE = "table"
    PARQUET = "parquet"


LOOK_BYTES: Final = 16 << 10
PARQUET: Final = b"PAR1"
# How an answer of the Prometheus API begins.
ANSWER = re.compile(rb'\s*\{[^\[]{0,4096}"(?:resultType|result|status)"')
MOST_LINES: Final = 200
# `DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61`, with a time behind it or none.
SAMPLE = re.compile(
    rb"([A-Za-z_:][A-Za-z0-9_:]*)[ \t]*(?:\{[^\n]*\})?[ \t]+"
    rb"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|NaN|Inf)(?:[ \t]+-?[0-9]+)?[ \t]*"
)
DESCRIBED = re.compile(rb"# ?(?:HELP|TYPE) ([A-Za-z_:][A-Za-z0-9_:]*)")


def form_of(head: bytes) -> Form | None:
    """The form of a file that begins with the decompressed ``head``; None for no telemetry."""
    if is_parquet(head):
        return Form.PARQUET
    text = head[:LOOK_BYTES].removeprefix(b"\xef\xbb\xbf")
    start = text.lstrip()[:1]
    if start == b"{":
        return Form.QUERY_RESULT if is_query_result(text) else None
    if not start or start in b"<[0123456789":
        return None
    if is_exposition(text):
        return Form.EXPOSITION
    return Form.TABLE if is_table(text) else None


def is_parquet(head: bytes) -> bool:
    """Whether a file begins as Parquet does."""
    return head.startswith(PARQUET)


def is_query_result(head: bytes) -> bool:
    """Whether a file that begins so is an answer of the API, with series in it."""
    return ANSWER.match(head) is not None and b'"metric"' in head and b'"result"' in head


def is_exposition(text: bytes) -> bool:
    """Whether all lines are of the format, and one of them says what only a scrape says."""
    sure = False
    samples = 0
    lines = whole_lines(text)
    for line in lines:
        if line.startswith(b"#"):
            sure = sure or DESCRIBED.match(line) is not None
            continue
        found = SAMPLE.fullmatch(line)
        if found is None:
            return False
        samples += 1
        sure = sure or metric_named(found[1].decode()) is not None
    return sure and (samples > 0 or len(lines) == MOST_LINES)


def is_table(text: bytes) -> bool:
    """Whether the first line names columns of telemetry, and a row of as many follows."""
    rows = [line for line in whole_lines(text) if not line.startswith(b"#")]
    columns = header_of(rows[0]) if rows else None
    if columns is None:
        return False
    delimiter = columns.delimiter.encode()
    if columns.time < 0 and not any(mark in name for name in columns.names for mark in "._"):
        return False
    return len(rows) == 1 or rows[1].count(delimiter) >= len(columns.names) - 1


def whole_lines(text: bytes) -> list[bytes]:
    """The first lines that are whole and not empty; all of a short text are whole."""
    lines = text.split(b"\n")
    if len(text) >= LOOK_BYTES and len(lines) > 1:
        lines.pop()
    return [line.strip() for line in lines[:MOST_LINES] if line.strip()]
