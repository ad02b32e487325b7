"""The digest of a week in words: what stopped, whether that is usual, whom to take out, what to do.

Takes wire forms: the report of the week, that of the weeks around it, the standings at the end
of the week and the grades at its begin. Names are not neutralised: that is each receiver's to do.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from triage.fleet.render.charts.over_time import what
from triage.fleet.render.sentences import EMPTY, answers, is_empty
from triage.fleet.render.words import by_unit, count, duration

__all__ = ["headline", "sentences"]

Wire = Mapping[str, Any]
MAX_CAUSES: Final = 4
MAX_NAMES: Final = 12
MAX_PARTS: Final = 3
# Of the answers of the weeks around it, those that a week alone is too short for.
FROM_TREND: Final = frozenset({"checkpoint", "spares"})


def headline(week: Wire, standings: Wire) -> str:
    """``Fleet, week to 16 Nov 2026: 12 unexpected interruptions, 2 lemons``."""
    until = datetime.fromisoformat(week["until"]).astimezone(UTC)
    cluster = f" {week['cluster']}" if week["cluster"] else ""
    stops = count(week["stops"]["unexpected"], "unexpected interruption")
    lemons = standings["counts"]["lemon"]
    more = f", {count(lemons, 'lemon')}" if lemons else ""
    return f"Fleet{cluster}, week to {until:%-d %b %Y}: {stops}{more}"


def sentences(
    week: Wire,
    trend: Wire,
    standings: Wire,
    before: Mapping[str, str],
    checks: Sequence[Wire],
) -> list[str]:
    """The answers, the most telling first. ``before`` is each node's grade a week earlier."""
    if is_empty(week) and is_empty(trend, standings):
        return [EMPTY]
    return [
        *stops(week, trend),
        *nodes(standings, before),
        *parts(standings),
        *causes(week),
        *to_check(checks),
        *(one.text for one in answers(trend, standings) if one.key in FROM_TREND),
    ]


def stops(week: Wire, trend: Wire) -> Iterator[str]:
    counted, planned = week["stops"]["unexpected"], week["stops"]["planned"]
    earlier = trend["stops"]["unexpected"] - counted
    days = (trend["exposure"]["days"] - week["exposure"]["days"]) or 1.0
    said = f"{count(counted, 'unexpected interruption')}, {planned:,} planned"
    if earlier or trend["exposure"]["runs"] > week["exposure"]["runs"]:
        said += f"; {7 * earlier / days:.1f} unexpected ones a week in the {days / 7:.0f} before"
    yield f"{said}."
    mtti = week["reference_mtti"]
    if mtti["value"] or mtti["low"]:
        how = "stopped every" if mtti["value"] else "ran"
        yield f"A{what(week)[1:]} {how} {duration(mtti)}."
    comparison = trend["comparison"]
    if comparison["differs"]:
        ratio = comparison["ratio"]
        times = "more" if (ratio["value"] or 2) > 1 else "less"
        told = f": {by_unit(ratio)} times as often" if ratio["value"] else ""
        yield f"That is {times} often than in the weeks before{told}."


def nodes(standings: Wire, before: Mapping[str, str]) -> Iterator[str]:
    now = {one["node"]: one["grade"] for one in standings["nodes"]}
    lemons = [node for node, grade in now.items() if grade == "lemon"]
    if lemons:
        names = [
            node if before.get(node) == "lemon" else f"{node} (new)" for node in lemons[:MAX_NAMES]
        ]
        yield f"{count(len(lemons), 'lemon')} to take out: {listed(names, len(lemons))}."
    watched = [
        node for node, grade in now.items() if grade == "watch" and before.get(node) != "watch"
    ]
    if watched:
        yield f"Newly watched: {listed(watched[:MAX_NAMES], len(watched))}."
    left = sorted(
        node for node, grade in before.items() if grade == "lemon" and now.get(node) != "lemon"
    )
    if left:
        yield f"No longer a lemon: {listed(left[:MAX_NAMES], len(left))}."


def parts(standings: Wire) -> Iterator[str]:
    for part in standings["parts"][:MAX_PARTS]:
        text = part["text"]
        yield f"{text[:1].upper()}{text[1:]}."


def causes(week: Wire) -> Iterator[str]:
    rows = sorted(
        (row for row in week["mix"]["rows"] if row["count"]), key=lambda row: -row["count"]
    )
    if rows:
        told = ", ".join(f"{row['row']} {row['count']:,}" for row in rows[:MAX_CAUSES])
        more = len(rows) - MAX_CAUSES
        yield f"By cause: {told}{f' and {more} more' if more > 0 else ''}."


def to_check(checks: Sequence[Wire]) -> Iterator[str]:
    failing = sum(one["state"] == "failing" for one in checks)
    if checks:
        due = len(checks) - failing
        yield f"{count(failing, 'check')} failing, {due:,} due."


def listed(names: Sequence[str], number: int) -> str:
    more = number - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
