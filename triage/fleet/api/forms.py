"""The standings as a table for a spreadsheet, as lines for a script, and for a ticket.

Names of nodes come from outside: a cell that a spreadsheet would take for a formula gets a
quote in front, and in Markdown nothing of them is markup.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.api.answers.suspect_forms import make_safe_cell
from triage.notify.ticket import escape_markdown
from triage.render.words.clean import format_one_line

_COLUMNS: Final = (
    "node", "grade", "strikes", "blame", "expected", "exposure_days", "p_value", "q_value",
    "score", "rate_per_1000_node_days", "rate_low", "rate_high", "part", "reasons",
)  # fmt: skip
_SHOWN: Final = ("node", "standing", "strikes", "per 1,000 node-days", "why")
_MAX_REASONS: Final = 3

_Row = Mapping[str, Any]


def encode_csv(rows: Sequence[_Row]) -> bytes:
    """One row a node under a row of names; reasons are parted by `` / ``."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow(_COLUMNS)
    for row in rows:
        told = {**row, "reasons": " / ".join(row["reasons"])}
        table.writerow([make_safe_cell(_format_cell(told[name])) for name in _COLUMNS])
    return out.getvalue().encode("utf-8", "replace")


def encode_markdown(rows: Sequence[_Row]) -> bytes:
    """A table to paste into a ticket: the node, its grade, its rate, the first reasons."""
    lines = [f"| {' | '.join(_SHOWN)} |", "|---|---|--:|--:|---|"]
    for row in rows:
        figures = [row[key] for key in ("rate_per_1000_node_days", "rate_low", "rate_high")]
        rate = "" if None in figures else "{:.3g} ({:.3g} to {:.3g})".format(*figures)
        why = "; ".join(escape_markdown(one, 300) for one in row["reasons"][:_MAX_REASONS])
        cells = (escape_markdown(row["node"], 256), row["grade"], str(row["strikes"]), rate, why)
        lines.append(f"| {' | '.join(cells)} |")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _format_cell(value: object) -> str:
    return "" if value is None else format_one_line(str(value))
