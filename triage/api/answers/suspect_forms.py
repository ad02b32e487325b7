"""The suspects as a table for a spreadsheet and as lines for a script.

Names and reasons come from logs of machines that may be compromised: a cell that a
spreadsheet would take for a formula gets a quote in front. The Markdown for a ticket is
:mod:`triage.notify.ticket`.
"""

import csv
import io
from collections.abc import Sequence
from typing import Any, Final

import orjson

from triage.render.words.clean import format_one_line

CSV: Final = "text/csv"
NDJSON: Final = "application/x-ndjson"
MARKDOWN: Final = "text/markdown"
# Beside JSON.
FORMS: Final = (CSV, NDJSON, MARKDOWN)

_COLUMNS: Final = (
    "position", "node", "ranks", "gpus", "category", "score", "role", "action", "because",
)  # fmt: skip
# Full-width forms count for spreadsheets of East Asia.
_FORMULA: Final = ("=", "+", "-", "@", "|", "%", "\t", "\r", "\n", "＝", "＋", "－", "＠")

_Suspect = dict[str, Any]


def write_csv(suspects: Sequence[_Suspect]) -> bytes:
    """One row a suspect under a row of names; several values in a cell are parted by blanks."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow(_COLUMNS)
    for suspect in suspects:
        table.writerow([make_safe_cell(text) for text in _list_cells(suspect)])
    return out.getvalue().encode("utf-8", "replace")


def write_ndjson(suspects: Sequence[_Suspect]) -> bytes:
    """One JSON object a line."""
    return b"".join(orjson.dumps(suspect) + b"\n" for suspect in suspects)


def _list_cells(suspect: _Suspect) -> list[str]:
    because = " / ".join(_format_place(reason) for reason in suspect.get("because", []))
    return [
        str(suspect.get("position", "")),
        format_one_line(str(suspect.get("node") or "")),
        " ".join(str(rank) for rank in suspect.get("ranks", [])),
        " ".join(format_one_line(str(gpu)) for gpu in suspect.get("gpus", [])),
        str(suspect.get("category", "")),
        str(suspect.get("score", "")),
        str(suspect.get("role", "")),
        str(suspect.get("action", "")),
        because,
    ]


def _format_place(reason: dict[str, Any]) -> str:
    text = format_one_line(str(reason.get("text", "")))
    artifact, line = reason.get("artifact"), reason.get("line")
    if not artifact:
        return text
    where = format_one_line(str(artifact)) + (f":{line}" if line is not None else "")
    return f"{text} ({where})"


def make_safe_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + text if text.startswith(_FORMULA) else text
