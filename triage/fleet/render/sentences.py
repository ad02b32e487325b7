"""The answers of a fleet report in sentences, in the order in which they are needed.

Whom to take out, how long a job runs, what fails, how often to save, how many spares: each
with its interval and, below it, what it rests on. The same sentences head the page, the text
on a terminal and a message.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from triage.domain.counts import count
from triage.fleet.render.charts.over_time import describe_reference_job
from triage.fleet.render.charts.plan import BASIS, MEASURED
from triage.fleet.render.page.nodes import list_graded_names
from triage.fleet.render.words import (
    Wire,
    format_by_unit,
    format_duration,
    format_figure,
    format_hours,
    format_per_cent,
    format_seconds,
    format_share,
    format_utc_day,
    mark,
    with_interval,
)

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
_DAY_H: Final = 24.0
# More names than fill a line are in the table.
_NAMES: Final = 110


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


def is_without_runs(report: Wire) -> bool:
    """Whether no job is known, running or interrupted."""
    return not report["exposure"]["runs"] and not report["stops"]["unexpected"]


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
    checks = f"{count(num_checks, 'check')} due or failing."
    return [
        *_iterate_rate(report),
        *_iterate_nodes(report["stops"], standings),
        *_iterate_causes(report),
        *_iterate_trend(report),
        *_iterate_checkpoint(report),
        *_iterate_spares(report),
        *_iterate_silence(report),
        *([Headline("checks", checks, tone="may")] if num_checks else ()),
    ]


def plan_answers(report: Wire, spares: Wire) -> list[Headline]:
    """The sentences of one plan; ``spares`` is ``what_if.SparesAnswer`` on the wire."""
    return [
        *_iterate_rate(report),
        *_iterate_warnings(report),
        *_iterate_chance(report),
        *_iterate_checkpoint(report),
        *_iterate_spares_answer(spares),
    ]


def _iterate_warnings(report: Wire) -> Iterator[Headline]:
    """What speaks against the figure of just this size."""
    size = report["exposure"]["reference_gpus"]
    row = next((row for row in report["projection"] if row["num_gpus"] == size), None)
    for text in row["warnings"] if row else ():
        yield Headline("projection", f"Beware: {text}.", tone="may")


def _iterate_chance(report: Wire) -> Iterator[Headline]:
    day = next((row for row in report["survival"] if row["hours"] == _DAY_H), None)
    if day is not None and day["probability"]["value"] is not None:
        chance = format_by_unit(day["probability"])
        yield Headline(
            "lifetime", f"It runs a whole day undisturbed with a probability of {chance}."
        )


def _iterate_spares_answer(answer: Wire) -> Iterator[Headline]:
    row = _choose_best_founded(answer["rows"])
    if row is None or row["spares"]["value"] is None:
        return
    nodes = count(answer["num_nodes"], "node")
    spares = with_interval(row["spares"], lambda value: count(value, "spare"))
    text = f"With {spares}, {nodes} are there {format_per_cent(answer['confidence'])} of the time."
    away = mark(answer["repair_days"] * _DAY_H)
    why = f"Where {_describe_basis(row)}, for {away} each."
    if row["basis"] == "forecast":
        why = "By the outages on record, in bursts and batches and as long as they came."
    yield Headline("spares", text, why)


def _choose_best_founded(rows: list[Wire]) -> Wire | None:
    """Of the rows of spares the forecast, or that by the outages on record; else the first."""
    bases = {row["basis"]: row for row in rows}
    return bases.get("forecast") or bases.get("outages") or (rows[0] if rows else None)


def _describe_basis(row: Wire) -> str:
    """What takes a node out of service, by a row of spares."""
    return BASIS.get(row["basis"], row["basis"])


def _iterate_rate(report: Wire) -> Iterator[Headline]:
    if is_without_runs(report):
        return
    mtti, stops, exposure = report["reference_mtti"], report["stops"], report["exposure"]
    counted = count(stops["counted"], "unexpected interruption")
    rests = f"{counted} in {mark(round(exposure['days'] * _DAY_H))}"
    if exposure["gpu_hours"]:
        rests += f" and {_format_many(exposure['gpu_hours'])} GPU-hours"
    if stops["planned"]:
        rests += f"; {count(stops['planned'], 'planned one')} not counted"
    between = report["rates"]["gpu_hours_between"]
    if between["value"]:
        rests += f". One for every {format_figure(between['value'], 3)} GPU-hours"
    job = describe_reference_job(report)
    if mtti["value"]:
        yield Headline("rate", f"A{job[1:]} stops every {format_duration(mtti)}.", f"{rests}.")
    elif mtti["low"]:
        text = f"No unexpected interruption yet: {job} runs {format_duration(mtti)} on average."
        yield Headline("rate", text, f"{rests}.", "good")


def _iterate_nodes(stops: Wire, standings: Wire) -> Iterator[Headline]:
    counts = standings["counts"]
    lemons, watched = counts.get("lemon", 0), counts.get("watch", 0)
    also = f"{count(watched, 'node')} under watch: {list_graded_names(standings, 'watch', _NAMES)}."
    if lemons:
        names = list_graded_names(standings, "lemon", _NAMES)
        text = f"{count(lemons, 'lemon')} to take out: {names}."
        yield Headline("nodes", text, also if watched else "", "bad")
    elif watched:
        yield Headline("nodes", f"No lemon. {also}", tone="may")
    elif stops["counted"] and not stops["triaged"]:
        text = f"None of {count(stops['counted'], 'interruption')} was triaged: whether a node"
        yield Headline("nodes", f"{text} is to blame, the record does not say.", tone="may")
    elif standings["num_tested"]:
        outages = standings.get("basis") == "outages"
        does = (
            "fails more often than chance has it"
            if outages
            else ("interrupts jobs more than chance does")
        )
        text = f"No node of {standings['num_tested']:,} {does}."
        yield Headline("nodes", text, tone="good")
    yield from _iterate_probation(standings)
    leaves = [part["text"] for part in standings["parts"] if part["kind"] == "leaf_switch"]
    for text in leaves[:3]:
        yield Headline("leaves", f"{text[:1].upper()}{text[1:]}.", tone="bad")


def _iterate_probation(standings: Wire) -> Iterator[Headline]:
    rows = [row["probation"] for row in standings["nodes"] if row.get("probation")]
    if rows:
        first = max(rows, key=lambda row: row["next_7"])
        text = f"{count(len(rows), 'repaired node')} on probation."
        yield Headline("nodes", text, f"{first['node']} {first['text']}.", "may")


def _iterate_causes(report: Wire) -> Iterator[Headline]:
    mix = report["mix"]
    if not mix["count"]:
        return
    first = max(mix["rows"], key=lambda row: row["count"])
    text = (
        f"{first['row']} fails most: {first['count']:,} of {mix['count']:,}"
        f" ({format_share(first['share']['value'])}; {format_share(first['llama3_share'])} in"
        f" Llama 3)."
    )
    origins = {row["origin"]: row for row in report["origins"]}
    parts = [
        f"{name} {format_share(origins[name]['share']['value'])}"
        for name in ("hardware", "software", "maintenance", "unknown")
        if origins.get(name, {}).get("count")
    ]
    yield Headline("causes", text, f"By origin: {', '.join(parts)}." if parts else "")


def _iterate_trend(report: Wire) -> Iterator[Headline]:
    comparison = report["comparison"]
    if not comparison["differs"] or comparison["split"] is None:
        return
    times, ratio = describe_trend(comparison)
    since = format_utc_day(comparison["split"])
    text = f"Since {since} jobs stop {times} often than before: {ratio} times as often."
    why = f"{comparison['first']:,} interruptions against {comparison['second']:,} before."
    yield Headline("time", text, why, "bad" if times == "more" else "good")


def describe_trend(comparison: Wire) -> tuple[str, str]:
    """``more`` or ``less``, and how many times as often; empty where that is not known."""
    ratio = comparison["ratio"]
    return "more" if (ratio["value"] or 2) > 1 else "less", format_by_unit(ratio) if ratio[
        "value"
    ] else ""


def _iterate_checkpoint(report: Wire) -> Iterator[Headline]:
    if not report["checkpoints"] or not report["checkpoints"][0]["young"]["value"]:
        return
    plan = report["checkpoints"][0]
    text = (
        f"Checkpoint every {format_seconds(plan['young']['value'])}: checkpoints, lost work and"
        f" restarts"
        f" then take {format_by_unit(plan['loss'])}."
    )
    why = (
        f"For {describe_reference_job(report)}, {mark(plan['cost_s'] / 3600)} for a checkpoint and"
        f" {mark(plan['restart_s'] / 3600)} for a restart."
    )
    yield Headline("checkpoint", text, why)


def _iterate_spares(report: Wire) -> Iterator[Headline]:
    row = _choose_best_founded(report["spares"])
    if row is None:
        return
    absent = report["away"]
    if absent is not None and absent["outages"] and absent["forecast"]["value"] is None:
        most = with_interval(absent["forecast"], lambda value: count(value + 1, "spare"))
        text = f"How many spares suffice, the record cannot tell: {most} do."
        yield Headline("spares", text, f"{absent['forecast']['notes'][0]}.".capitalize())
        return
    spares = row["spares"]
    text = (
        f"With {count(spares['at_99'], 'spare')}, {count(spares['num_nodes'], 'node')} are there"
        f" {format_per_cent(0.99)} of the time."
    )
    away = row["repair_days"] * _DAY_H
    why = f"Where {_describe_basis(row)}, for {mark(away)}."
    if row["basis"] in MEASURED:
        why = f"By the outages on record, {format_hours(away)} each on average."
    if row["basis"] == "forecast":
        sufficed = count(report["away"]["in_sample"], "spare")
        bounds = with_interval(report["away"]["forecast"], lambda value: f"{value:,.0f}")
        why += f" {sufficed} sufficed in the record; the next one needs {bounds}."
    yield Headline("spares", text, why)


def _iterate_silence(report: Wire) -> Iterator[Headline]:
    days = report["silent_days"]["days"]
    if days:
        listed = ", ".join(days[:4]) + (" ..." if len(days) > 4 else "")
        text = f"{count(len(days), 'day')} without a record, where some are certain: {listed}."
        yield Headline("time", text, "Look at the collector before the fleet.", "may")


def _format_many(number: float) -> str:
    for least, word in ((1e9, " billion"), (1e6, " million")):
        if number >= least:
            return f"{number / least:,.1f}{word}"
    return f"{number:,.0f}"
