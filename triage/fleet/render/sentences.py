"""The answers of a fleet report in sentences, in the order in which they are needed.

Whom to take out, how long a job runs, what fails, how often to save, how many spares: each
with its interval and, below it, what it rests on. The same sentences head the page, the text
on a terminal and a message. ``templates/sentences.txt`` has the words.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from triage.domain.counts import count
from triage.fleet.render.texts import is_without_runs, write_paragraphs, write_sentences
from triage.fleet.render.words import Wire, format_utc_day, mark
from triage.render.words.clean import format_one_line

EMPTY: Final = (
    "Nothing is known of this fleet in this time: no run and no interruption. Import what your"
    " scheduler knows of its jobs, or let its hooks tell."
)
TO_BEGIN: Final = (
    "sacct -aXPD -S now-30days \\",
    "  -o JobIDRaw,Cluster,State,Start,End,NNodes,AllocTRES,NodeList > jobs.txt",
    "triage fleet import jobs.txt",
)
"""Commands that give a Slurm fleet its first month."""
STANDS_OUT: Final = frozenset({"lemon", "watch"})
"""The grades of nodes that stand out."""
# Of the answers of the weeks around it, those that a week alone is too short for.
_FROM_TREND: Final = frozenset({"checkpoint", "spares"})


class Headline(NamedTuple):
    """One answer. ``key`` is the section that has the rest, ``tone`` how it is marked.

    ``tone`` is ``bad``, ``may``, ``good`` or nothing: a colour beside the words.
    """

    key: str
    text: str
    why: str = ""
    tone: str = ""


def is_empty(report: Wire, standings: Wire | None = None) -> bool:
    """Whether there is nothing to show: no run, no interruption and no outage."""
    nothing = not report["repairs"]["outages"] and is_without_runs(report)
    return nothing and not report["stops"]["planned"] and not (standings or {}).get("parts")


def format_period(report: Wire) -> str:
    """``1 Oct to 31 Oct 2026 (30 days), cluster a``."""
    since, until = (datetime.fromisoformat(report[key]) for key in ("since", "until"))
    days = mark(round((until - since).total_seconds() / 3600))
    cluster = f", cluster {report['cluster']}" if report["cluster"] else ""
    return f"{format_utc_day(since)} to {format_utc_day(until)} UTC ({days}){cluster}"


def list_headlines(report: Wire, standings: Wire, num_checks: int = 0) -> list[Headline]:
    """All sentences that the record bears; those that need what it lacks are left out."""
    if is_empty(report, standings):
        return []
    return [
        *_write_headlines("rate", report),
        *_write_headlines("nodes", report["stops"], standings),
        *_write_headlines("causes", report),
        *_write_headlines("trend", report),
        *_write_headlines("checkpoint", report),
        *_write_headlines("spares", report),
        *_write_headlines("silence", report),
        *_write_headlines("checks", num_checks),
    ]


def plan_answers(report: Wire, spares: Wire) -> list[Headline]:
    """The sentences of one plan; ``spares`` is ``what_if.SparesAnswer`` on the wire."""
    return [
        *_write_headlines("rate", report),
        *_write_headlines("warnings", report),
        *_write_headlines("checkpoint", report),
        *_write_headlines("spares_answer", spares),
    ]


def _write_headlines(macro: str, *values: object) -> Iterator[Headline]:
    """Headlines as ``sentences.txt`` writes them: ``[key tone]``, the text, ``-- `` and why."""
    for paragraph in write_paragraphs(macro, *values):
        head, _, rest = paragraph.partition("\n")
        key, _, tone = head.strip("[]").partition(" ")
        text, _, why = rest.partition("\n-- ")
        yield Headline(key, format_one_line(text), format_one_line(why), tone)


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
    """The digest of a week: what stopped, whether that is usual, whom to take out, what to do.

    Takes wire forms: the report of the week, that of the weeks around it, the standings at the
    end of the week. ``before`` is each node's grade a week earlier. The most telling come first.
    """
    if is_empty(week) and is_empty(trend, standings):
        return [EMPTY]
    now = {row["node"]: row["grade"] for row in standings["nodes"]}
    lemons = [node for node, grade in now.items() if grade == "lemon"]
    watched = [node for node, grade in now.items() if grade == "watch"]
    once = [node for node, grade in before.items() if grade == "lemon"]
    nodes = {
        "lemons": [node if node in once else f"{node} (new)" for node in lemons],
        "watched": [node for node in watched if before.get(node) != "watch"],
        "mended": sorted({*once} - {*lemons}),
    }
    return [
        *write_sentences("weekly", week, trend, standings, nodes, checks),
        *(answer.text for answer in list_headlines(trend, standings) if answer.key in _FROM_TREND),
    ]
