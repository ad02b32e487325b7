"""The answers of a fleet report in sentences, in the order in which they are needed.

Whom to take out, how long a job runs, what fails, how often to save, how many spares: each
with its interval and, below it, what it rests on. The same sentences head the page, the text
on a terminal and a message. ``templates/sentences.txt`` has the words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment

from triage.domain.counts import count
from triage.fleet.render.tables import describe_reference_job, find_word, load_tables
from triage.fleet.render.words import (
    FORMATS,
    Wire,
    format_utc_day,
    mark,
    with_interval,
)
from triage.render.page.templates import make_environment
from triage.render.words.clean import cut, format_one_line

_FOLDER: Final = Path(__file__).parent / "templates"
FLEET_CSS: Final = (_FOLDER / "fleet.css").read_text("utf-8")
"""What the sheet of a report does not have: pages serve it as ``fleet.css`` after ``report.css``;
the report in one file holds both.
"""
GRADES: Final[Mapping[str, str]] = {
    "lemon": "fails, or is to fail, far more than its peers",
    "watch": "suspect, not proven",
    "normal": "no more than chance",
    "golden": "a long clean record, and a stress check passed",
    "unknown": "no run names it: no exposure, no standing",
}
"""What each grade means, the worst first."""
_MANY: Final = ((1e9, " billion"), (1e6, " million"))


def write_sentences(macro: str, *values: object) -> list[str]:
    """The paragraphs that a macro of ``sentences.txt`` makes, each as one line."""
    return [format_one_line(part) for part in write_paragraphs(macro, *values)]


def write_paragraphs(macro: str, *values: object) -> list[str]:
    """The same with their lines."""
    module = load_environment(markup=False).get_template("sentences.txt").module
    parts = re.split(r"\n\s*\n", str(getattr(module, macro)(*values)))
    return [part.strip() for part in parts if part.strip()]


@cache
def load_environment(*, markup: bool = True) -> Environment:
    """The templates with the words of a fleet as filters; values are escaped in ``markup``."""
    made = make_environment(_FOLDER, autoescape=markup)
    made.filters |= FORMATS | {kind: partial(find_word, kind) for kind in load_tables()["words"]}
    made.filters |= {
        "accused_leaves": lambda standings: [
            part["text"] for part in standings["parts"] if part["kind"] == "leaf_switch"
        ],
        "best_founded": _choose_best_founded,
        "cause_count": lambda row: f"{row['row']} {row['count']:,}",
        "cause_rows": select_cause_rows,
        "few": join_names,
        "g": lambda value: f"{value:g}",
        "grade": lambda word: word if word in GRADES else "unknown",
        "graded": list_graded_names,
        "job": describe_reference_job,
        "many": _format_many,
        "node_chance": lambda row: f"{row['node']} ({100 * row['next_7']:.0f} %)",
        "on_probation": _list_probations,
        "percent": lambda share: f"{share:.0%}",
        "plainly": lambda number: f"{float(f'{number:.3g}'):g}",
        "round_number": lambda value: f"{value:,.0f}",
        "spare_nodes": lambda estimate, more=0: with_interval(
            estimate, lambda value: count(value + more, "spare")
        ),
        "tenths": lambda value: f"{value:.1f}",
        "trend_ratio": lambda one: FORMATS["unit"](one["ratio"]) if one["ratio"]["value"] else "",
        "trend_way": lambda one: "more" if (one["ratio"]["value"] or 2) > 1 else "less",
        "upfirst": lambda text: f"{text[:1].upper()}{text[1:]}",
        "with_spares": lambda rows, least: [row for row in rows if row["spares"] >= least][:1],
        "without_runs": is_without_runs,
    }
    made.globals["GRADES"] = GRADES
    return made


def is_without_runs(report: Wire) -> bool:
    """Whether no job is known, running or interrupted."""
    return not report["exposure"]["runs"] and not report["stops"]["unexpected"]


def select_cause_rows(report: Wire) -> list[Wire]:
    """The causes with a count here or in the Llama 3 run, the most frequent here first."""
    rows = [row for row in report["mix"]["rows"] if row["count"] or row["llama3_count"]]
    return sorted(rows, key=lambda row: (-row["count"], -row["llama3_count"]))


def list_graded_names(standings: Wire, grade: str, max_chars: int = 110) -> str:
    """The nodes of a grade, the worst first, as many as fit: ``n17, n423 and 9 more``."""
    names = [format_one_line(row["node"]) for row in standings["nodes"] if row["grade"] == grade]
    shown: list[str] = []
    for name in names:
        if shown and len(", ".join((*shown, name))) > max_chars:
            break
        shown.append(cut(name, max_chars))
    left = standings["counts"].get(grade, len(names)) - len(shown)
    return f"{', '.join(shown)}{f' and {left:,} more' if left > 0 else ''}"


def join_names(names: Sequence[str], most: int = 12) -> str:
    """``n3, n7 and 2 more``: the first ``most`` of the names."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _list_probations(standings: Wire) -> list[Wire]:
    """Who came back from a repair lately, the likeliest to fail first."""
    rows = [row["probation"] for row in standings["nodes"] if row.get("probation")]
    return sorted(rows, key=lambda row: -row["next_7"])


def _choose_best_founded(rows: Sequence[Wire]) -> Wire | None:
    """Of the rows of spares the forecast, or that by the outages on record; else the first."""
    bases = {row["basis"]: row for row in rows}
    return bases.get("forecast") or bases.get("outages") or (rows[0] if rows else None)


def _format_many(number: float) -> str:
    for least, unit in _MANY:
        if number >= least:
            return f"{number / least:,.1f}{unit}"
    return f"{number:,.0f}"


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
