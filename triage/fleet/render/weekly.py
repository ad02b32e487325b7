"""The digest of a week in words: what stopped, whether that is usual, whom to take out, what to do.

Takes wire forms: the report of the week, that of the weeks around it, the standings at the end
of the week and the grades at its begin. Names are not neutralised: that is each receiver's to do.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.over_time import describe_reference_job
from triage.fleet.render.sentences import EMPTY, describe_trend, is_empty, list_headlines
from triage.fleet.render.words import Wire, format_duration, format_utc_day

_MAX_CAUSES: Final = 4
_MAX_NAMES: Final = 12
_MAX_PARTS: Final = 3
# Of the answers of the weeks around it, those that a week alone is too short for.
_FROM_TREND: Final = frozenset({"checkpoint", "spares"})


def compose_weekly_headline(week: Wire, standings: Wire) -> str:
    """``Fleet, week to 16 Nov 2026: 12 unexpected interruptions, 2 lemons``."""
    cluster = f" {week['cluster']}" if week["cluster"] else ""
    stops = count(week["stops"]["unexpected"], "unexpected interruption")
    lemons = standings["counts"]["lemon"]
    more = f", {count(lemons, 'lemon')}" if lemons else ""
    return f"Fleet{cluster}, week to {format_utc_day(week['until'])}: {stops}{more}"


def list_weekly_sentences(
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
        *_iterate_stops(week, trend),
        *_iterate_nodes(standings, before),
        *iterate_probation_sentences(standings),
        *_iterate_parts(standings),
        *_iterate_causes(week),
        *_iterate_checks(checks),
        *(answer.text for answer in list_headlines(trend, standings) if answer.key in _FROM_TREND),
    ]


def _iterate_stops(week: Wire, trend: Wire) -> Iterator[str]:
    counted, planned = week["stops"]["unexpected"], week["stops"]["planned"]
    earlier = trend["stops"]["unexpected"] - counted
    days = (trend["exposure"]["days"] - week["exposure"]["days"]) or 1.0
    text = f"{count(counted, 'unexpected interruption')}, {planned:,} planned"
    if earlier or trend["exposure"]["runs"] > week["exposure"]["runs"]:
        text += f"; {7 * earlier / days:.1f} unexpected ones a week in the {days / 7:.0f} before"
    yield f"{text}."
    mtti = week["reference_mtti"]
    if mtti["value"] or mtti["low"]:
        how = "stopped every" if mtti["value"] else "ran"
        yield f"A{describe_reference_job(week)[1:]} {how} {format_duration(mtti)}."
    comparison = trend["comparison"]
    if comparison["differs"]:
        times, ratio = describe_trend(comparison)
        factor = f": {ratio} times as often" if ratio else ""
        yield f"That is {times} often than in the weeks before{factor}."


def _iterate_nodes(standings: Wire, before: Mapping[str, str]) -> Iterator[str]:
    now = {row["node"]: row["grade"] for row in standings["nodes"]}
    lemons, watched = (
        [node for node, grade in now.items() if grade == wanted] for wanted in ("lemon", "watch")
    )
    if lemons:
        names = [node if before.get(node) == "lemon" else f"{node} (new)" for node in lemons]
        yield f"{count(len(lemons), 'lemon')} to take out: {_join_names(names, _MAX_NAMES)}."
    if new := [node for node in watched if before.get(node) != "watch"]:
        yield f"Newly watched: {_join_names(new, _MAX_NAMES)}."
    once = (node for node, grade in before.items() if grade == "lemon")
    if mended := sorted(node for node in once if now.get(node) != "lemon"):
        yield f"No longer a lemon: {_join_names(mended, _MAX_NAMES)}."


def iterate_probation_sentences(standings: Wire) -> Iterator[str]:
    """Who came back from a repair lately, the likeliest to fail first."""
    rows = [row for row in standings["nodes"] if row.get("probation")]
    rows.sort(key=lambda row: -row["probation"]["next_7"])
    if rows:
        names = [f"{row['node']} ({100 * row['probation']['next_7']:.0f} %)" for row in rows]
        number = count(len(rows), "repaired node")
        yield (
            f"{number} on probation, with the chance to fail again within a week:"
            f" {_join_names(names, _MAX_NAMES)}."
        )


def _iterate_parts(standings: Wire) -> Iterator[str]:
    for part in standings["parts"][:_MAX_PARTS]:
        text = part["text"]
        yield f"{text[:1].upper()}{text[1:]}."


def _iterate_causes(week: Wire) -> Iterator[str]:
    rows = sorted(week["mix"]["rows"], key=lambda row: -row["count"])
    if counts := [f"{row['row']} {row['count']:,}" for row in rows if row["count"]]:
        yield f"By cause: {_join_names(counts, _MAX_CAUSES)}."


def _iterate_checks(checks: Sequence[Wire]) -> Iterator[str]:
    failing = sum(check["state"] == "failing" for check in checks)
    if checks:
        due = len(checks) - failing
        yield f"{count(failing, 'check')} failing, {due:,} due."


def _join_names(names: Sequence[str], most: int) -> str:
    """``n3, n7 and 2 more``: the first ``most`` of the names."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
