"""Listing: incidents and the history of a node as lines for a terminal.

The rows are those of the service. What comes from the input is cleaned, and a line ends at
the width it is given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from triage.domain.counts import count
from triage.render.terminal.text import BOLD, DIM, RED, Line, item
from triage.render.words.belief import belief
from triage.render.words.clean import cells, cut, one_line

_Row = Mapping[str, Any]

_MAX_ERRORS = 12
_MAX_INCIDENTS = 12


def incident_lines(rows: Sequence[_Row], *, more: bool, width: int = 80) -> list[Line]:
    """Two lines an incident: what it is, then what it says; ``more``: some are left out."""
    if not rows:
        return [Line("no incident")]
    lines: list[Line] = []
    for row in rows:
        head = f"{row['id']}  {moment_text(row['created_at'])}  {state_text(row)}"
        lines.append(Line(cut(f"{head}  job {one_line(row['job_id'])}", width), BOLD))
        lines += item(cut(_sentence(row), 2 * width - 12), width, first="  ")
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


def _sentence(row: _Row) -> str:
    verdict, resolution = row.get("verdict"), row.get("resolution")
    if verdict is None:
        return one_line(row.get("reason") or "no verdict yet")
    facts = f"{verdict['kind']}, {verdict['category']}, {belief(verdict['confidence'])}"
    if resolution:
        facts += f" (turned out to be {one_line(resolution['category'])})"
    return f"{facts}: {one_line(verdict['summary'])}"


def node_lines(facts: _Row, summary: str, width: int = 80) -> list[Line]:
    """A node's history: the sentence, the incidents that suspect it, the errors of its logs."""
    lines = item(summary, width, BOLD, first="")
    first, last = moment_text(facts["first_seen_at"]), moment_text(facts["last_seen_at"])
    lines.append(Line(f"  seen from {first} to {last}, UTC"))
    lines += [Line(""), Line("Incidents that suspect it, newest first", BOLD)]
    lines += _bounded(facts["incidents"], _MAX_INCIDENTS, _node_incident, width)
    lines += [Line(""), Line("Errors of its logs, most frequent first", BOLD)]
    lines += _bounded(facts["errors"], _MAX_ERRORS, _node_error, width)
    return lines


def _bounded(
    rows: Sequence[_Row], most: int, shown: Callable[[_Row, int], Iterable[Line]], width: int
) -> Iterable[Line]:
    if not rows:
        yield Line("  none")
    for row in rows[:most]:
        yield from shown(row, width)
    if len(rows) > most:
        yield Line(f"  and {len(rows) - most:,} more (--format json)")


def _node_incident(row: _Row, width: int) -> Iterable[Line]:
    head = f"  {moment_text(row['created_at'])}  "
    facts = (row["role"], row["category"], belief(row["score"]), f"job {one_line(row['job_id'])}")
    colour = RED if row["role"] == "culprit" else ""
    yield Line(cut(f"{head}{row['incident_id']}", width), colour)
    indent = " " * cells(head)
    yield from item(cut(", ".join(map(str, facts)), 200), width, first=indent)
    if row.get("resolved_as"):
        where = f" on {one_line(row['resolved_node'])}" if row.get("resolved_node") else ""
        outcome = f"turned out to be {one_line(row['resolved_as'])}{where}"
        yield from item(cut(outcome, 200), width, first=indent)


def _node_error(row: _Row, width: int) -> Iterable[Line]:
    what = str(row["kind"]) + ("" if row["code"] is None else f" {row['code']}")
    facts = [what, *(one_line(str(row[key])) for key in ("category", "gpu") if row.get(key))]
    seen = f"{count(row['count'], 'line')} in {count(row['incidents'], 'incident')}"
    last = f", last {moment_text(row['last_at'])}" if row.get("last_at") else ""
    error = f"{', '.join(facts)}: {seen}{last} [{one_line(row['signature'])}]"
    yield from item(cut(error, 240), width)


def moment_text(text: str | None) -> str:
    """``2026-11-21 03:04`` in UTC; ``unknown`` for None and for text that is no time."""
    try:
        at = datetime.fromisoformat(text or "")
        return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return "unknown"
