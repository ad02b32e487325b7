"""Listing: incidents and the history of a node as lines for a terminal.

The rows are those of the service. What comes from the input is cleaned, and a line ends at
the width it is given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from triage.domain.counts import count
from triage.render.terminal.text import BOLD, DIM, RED, Line, format_item
from triage.render.words.answer import format_belief
from triage.render.words.clean import count_cells, cut, format_one_line

_Row = Mapping[str, Any]

_MAX_ERRORS = 12
_MAX_INCIDENTS = 12


def format_incident_lines(rows: Sequence[_Row], *, more: bool, width: int = 80) -> list[Line]:
    """Two lines an incident: what it is, then what it says; ``more``: some are left out."""
    if not rows:
        return [Line("no incident")]
    lines: list[Line] = []
    for row in rows:
        head = f"{row['id']}  {format_moment(row['created_at'])}  {state_text(row)}"
        lines.append(Line(cut(f"{head}  job {format_one_line(row['job_id'])}", width), BOLD))
        lines += format_item(cut(_format_sentence(row), 2 * width - 12), width, first="  ")
    if more:
        lines.append(Line("and more; --limit N shows them", DIM))
    return lines


def state_text(row: _Row) -> str:
    """``ready``, ``ready, provisional``, ``collecting, 3 of 8 files``."""
    state = str(row["state"])
    if state == "ready":
        return f"{state}, provisional" if row.get("provisional") else state
    files, expected = row.get("num_artifacts"), row.get("expected_artifacts")
    if files is None or state == "failed":
        return state
    return f"{state}, {f'{files:,} of {expected:,} files' if expected else count(files, 'file')}"


def _format_sentence(row: _Row) -> str:
    verdict, resolution = row.get("verdict"), row.get("resolution")
    if verdict is None:
        return format_one_line(row.get("reason") or "no verdict yet")
    facts = f"{verdict['kind']}, {verdict['category']}, {format_belief(verdict['confidence'])}"
    if resolution:
        facts += f" (turned out to be {format_one_line(resolution['category'])})"
    return f"{facts}: {format_one_line(verdict['summary'])}"


def format_node_lines(facts: _Row, summary: str, width: int = 80) -> list[Line]:
    """A node's history: the sentence, the incidents that suspect it, the errors of its logs."""
    lines = format_item(summary, width, BOLD, first="")
    first, last = format_moment(facts["first_seen_at"]), format_moment(facts["last_seen_at"])
    lines.append(Line(f"  seen from {first} to {last}, UTC"))
    lines += [Line(""), Line("Incidents that suspect it, newest first", BOLD)]
    lines += _limit_lines(facts["incidents"], _MAX_INCIDENTS, _format_node_incident, width)
    lines += [Line(""), Line("Errors of its logs, most frequent first", BOLD)]
    lines += _limit_lines(facts["errors"], _MAX_ERRORS, _format_node_error, width)
    return lines


def _limit_lines(
    rows: Sequence[_Row], most: int, shown: Callable[[_Row, int], Iterable[Line]], width: int
) -> Iterable[Line]:
    if not rows:
        yield Line("  none")
    for row in rows[:most]:
        yield from shown(row, width)
    if len(rows) > most:
        yield Line(f"  and {len(rows) - most:,} more (--format json)")


def _format_node_incident(row: _Row, width: int) -> Iterable[Line]:
    head = f"  {format_moment(row['created_at'])}  "
    facts = (
        row["role"],
        row["category"],
        format_belief(row["score"]),
        f"job {format_one_line(row['job_id'])}",
    )
    colour = RED if row["role"] == "culprit" else ""
    yield Line(cut(f"{head}{row['incident_id']}", width), colour)
    indent = " " * count_cells(head)
    yield from format_item(cut(", ".join(map(str, facts)), 200), width, first=indent)
    if row.get("resolved_as"):
        where = f" on {format_one_line(row['resolved_node'])}" if row.get("resolved_node") else ""
        outcome = f"turned out to be {format_one_line(row['resolved_as'])}{where}"
        yield from format_item(cut(outcome, 200), width, first=indent)


def _format_node_error(row: _Row, width: int) -> Iterable[Line]:
    what = str(row["kind"]) + ("" if row["code"] is None else f" {row['code']}")
    facts = [what, *(format_one_line(str(row[key])) for key in ("category", "gpu") if row.get(key))]
    seen = f"{count(row['count'], 'line')} in {count(row['incidents'], 'incident')}"
    last = f", last {format_moment(row['last_at'])}" if row.get("last_at") else ""
    error = f"{', '.join(facts)}: {seen}{last} [{format_one_line(row['signature'])}]"
    yield from format_item(cut(error, 240), width)


def format_moment(text: str | None) -> str:
    """``2026-11-21 03:04`` in UTC; ``unknown`` for None and for text that is no time."""
    try:
        at = datetime.fromisoformat(text or "")
        return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return "unknown"
