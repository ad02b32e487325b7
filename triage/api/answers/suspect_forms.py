"""The suspects as a table for a spreadsheet and as lines for a script.

Names and reasons come from logs of machines that may be compromised: a cell that a
spreadsheet would take for a formula gets a quote in front. The Markdown for a ticket is
:mod:`triage.notify.ticket`.

What a client would like: the ``Accept`` header, weighed.
"""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any, Final

import orjson

from triage.api.answers.problems import NotAcceptable
from triage.domain.patterns import compile_re
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


_RANGE: Final = compile_re(r"([\w!#$&^.+*-]+)/([\w!#$&^.+*-]+)")
_WEIGHT: Final = compile_re(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.ASCII)
_MAX_RANGES: Final = 64


def choose_type(header: str | None, offered: Sequence[str]) -> str:
    """The offered type that weighs most; the earlier one of equals.

    Raises :class:`NotAcceptable` when none is accepted. What is no range is passed over;
    a header with nothing else in it accepts everything, like none at all.
    """
    ranges = _read(header or "")
    if not ranges:
        return offered[0]
    best = max(offered, key=lambda one: _find_weight(one, ranges))
    if _find_weight(best, ranges) <= 0:
        raise NotAcceptable(
            "none of the accepted forms is one that this answer has",
            hint="accept one of " + ", ".join(offered),
        )
    return best


def _read(header: str) -> list[tuple[str, str, float]]:
    found = []
    for part in header.split(",")[:_MAX_RANGES]:
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        match = _RANGE.fullmatch(name)
        if match is None:
            continue
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                quality = float(value) if _WEIGHT.fullmatch(value.strip()) else 0.0
        found.append((match[1], match[2], quality))
    return found


def _find_weight(offer: str, ranges: Sequence[tuple[str, str, float]]) -> float:
    """The weight that the most specific range gives to a type."""
    main, _, sub = offer.partition("/")
    best = (-1, 0.0)
    for wanted_main, wanted_sub, quality in ranges:
        if (wanted_main, wanted_sub) == (main, sub):
            best = max(best, (2, quality))
        elif (wanted_main, wanted_sub) == (main, "*"):
            best = max(best, (1, quality))
        elif (wanted_main, wanted_sub) == ("*", "*"):
            best = max(best, (0, quality))
    return best[1]
