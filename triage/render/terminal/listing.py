"""Listing: incidents and the history of a node as lines for a terminal.

The rows are those of the service. What comes from the input is cleaned, and a line ends at
the width it is given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.belief import belief
from triage.render.words.clean import cells, cut, one_line

__all__ = ["incident_lines", "moment_text", "node_lines", "state_text"]

Row = Mapping[str, Any]

_BOLD, _DIM, _RED = "1", "2", "1;31"
_MAX_ERRORS = 12
_MAX_INCIDENTS = 12


def incident_lines(rows: Sequence[Row], *, more: bool, width: int = 80) -> list[Line]:
    """Two lines an incident: what it is, then what it says; ``more`` tells of those left out."""
    if not rows:
        return [Line("no incident")]
    lines: list[Line] = []
    for row in rows:
        head = f"{row['id']}  {moment_text(row['created_at'])}  {state_text(row)}"
        lines.append(Line(cut(f"{head}  job {one_line(row['job_id'])}", width), _BOLD))
        lines += [Line(one) for one in wrap(cut(_sentence(row), 2 * width - 12), width, first="  ")]
    if more:
        lines.append(Line("and more; --limit N shows them", _DIM))
    return lines


def state_text(row: Row) -> str:
    """``ready``, ``ready, provisional``, ``collecting, 3 of 8 files``."""
    said = str(row["state"])
    if row["state"] == "ready":
        return f"{said}, provisional" if row.get("provisional") else said
    files, expected = row.get("num_artifacts"), row.get("expected_artifacts")
    if files is None or row["state"] == "failed":
        return said
    of_all = f" of {expected:,}" if expected else ""
    return f"{said}, {files:,}{of_all} {'file' if files == 1 and not of_all else 'files'}"


def _sentence(row: Row) -> str:
    verdict, resolution = row.get("verdict"), row.get("resolution")
    if verdict is None:
        return one_line(row.get("reason") or "no verdict yet")
    said = f"{verdict['kind']}, {verdict['category']}, {belief(verdict['confidence'])}"
    if resolution:
        said += f" (turned out to be {one_line(resolution['category'])})"
    return f"{said}: {one_line(verdict['summary'])}"


def node_lines(facts: Row, summary: str, width: int = 80) -> list[Line]:
    """A node's history: the sentence, the incidents that suspect it, the errors of its logs."""
    lines = [Line(one, _BOLD) for one in wrap(summary, width)]
    first, last = moment_text(facts["first_seen_at"]), moment_text(facts["last_seen_at"])
    lines.append(Line(f"  seen from {first} to {last}, UTC"))
    lines += [Line(""), Line("Incidents that suspect it, newest first", _BOLD)]
    lines += _bounded(facts["incidents"], _MAX_INCIDENTS, _node_incident, width)
    lines += [Line(""), Line("Errors of its logs, most frequent first", _BOLD)]
    lines += _bounded(facts["errors"], _MAX_ERRORS, _node_error, width)
    return lines


def _bounded(
    rows: Sequence[Row], most: int, shown: Callable[[Row, int], Iterable[Line]], width: int
) -> Iterable[Line]:
    if not rows:
        yield Line("  none")
    for row in rows[:most]:
        yield from shown(row, width)
    if len(rows) > most:
        yield Line(f"  and {len(rows) - most:,} more (--format json)")


def _node_incident(row: Row, width: int) -> Iterable[Line]:
    head = f"  {moment_text(row['created_at'])}  "
    said = (
        f"{row['role']}, {row['category']}, {belief(row['score'])}, job {one_line(row['job_id'])}"
    )
    colour = _RED if row["role"] == "culprit" else ""
    yield Line(cut(f"{head}{row['incident_id']}", width), colour)
    indent = " " * cells(head)
    yield from (Line(one) for one in wrap(cut(said, 200), width, first=indent))
    if row.get("resolved_as"):
        where = f" on {one_line(row['resolved_node'])}" if row.get("resolved_node") else ""
        said = f"turned out to be {one_line(row['resolved_as'])}{where}"
        yield from (Line(one) for one in wrap(cut(said, 200), width, first=indent))


def _node_error(row: Row, width: int) -> Iterable[Line]:
    what = str(row["kind"]) + ("" if row["code"] is None else f" {row['code']}")
    facts = [what, *(one_line(str(row[key])) for key in ("category", "gpu") if row.get(key))]
    count = f"{row['count']:,} {'line' if row['count'] == 1 else 'lines'}"
    where = f"{row['incidents']:,} {'incident' if row['incidents'] == 1 else 'incidents'}"
    last = f", last {moment_text(row['last_at'])}" if row.get("last_at") else ""
    said = f"{', '.join(facts)}: {count} in {where}{last} [{one_line(row['signature'])}]"
    yield from (Line(one) for one in wrap(cut(said, 240), width, first="  - "))


def moment_text(text: str | None) -> str:
    """``2026-11-21 03:04`` in UTC; ``unknown`` for nothing."""
    try:
        at = datetime.fromisoformat(text or "")
        return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return "unknown"
