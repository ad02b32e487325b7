"""The fleet report for people on a terminal: the answers, then the tables they rest on.

Takes the wire forms of report and standings. Plain ASCII of our own; what comes from the
record is cleaned and cut. Pictures are for pages; here a row is a window, a size, a cause.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render import precursors
from triage.fleet.render.charts import causes, heat, lifetime, projection
from triage.fleet.render.charts.over_time import job_mtti, reference_job
from triage.fleet.render.charts.plan import away, effective_time
from triage.fleet.render.page.nodes import rate_text
from triage.fleet.render.page.nodes import summary as summary_of_nodes
from triage.fleet.render.sentences import (
    EMPTY,
    STANDS_OUT,
    TO_BEGIN,
    answers,
    is_empty,
    nothing_ran,
    period_text,
)
from triage.fleet.render.terminal.table import as_lines
from triage.fleet.render.words import (
    Wire,
    by_unit,
    day_of,
    duration,
    figure,
    hours,
    mark,
    share,
    with_interval,
)
from triage.render.terminal.text import Line, painted
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import one_line

_WIDTH: Final = 80
_TOP: Final = 10
_MAX_WINDOWS: Final = 13
_BOLD, _DIM = "1", "2"
_TONES: Final = {"bad": "1;31", "may": "33", "good": "32"}
# The bases of spares in few words: beside six columns of figures.
_TAKES_OUT: Final = {
    "every stop": "every interruption",
    "hardware": "hardware faults alone",
    "outages": "outages, each alone",
    "forecast": "forecast by outages",
    "record": "in sample",
}
# Of the sizes of a projection, those that people plan by.
_SIZES: Final = frozenset({8, 64, 1_024, 8_192, 16_384, 32_768, 65_536, 131_072, 1_000_000})


def render(
    report: Wire,
    standings: Wire,
    *,
    colour: bool = False,
    width: int = _WIDTH,
    top: int = _TOP,
    num_checks: int = 0,
) -> str:
    """All of it in lines of at most ``width`` columns, with a newline at the end.

    ``top`` is the number of nodes shown. Escape sequences stand in it only when ``colour`` is
    true, and then only ours. No figure is cut at 80 columns or more.
    """
    width = max(width, 60)
    head = _wrapped(f"The fleet, {period_text(report)}", width, colour=_BOLD)
    if is_empty(report, standings):
        commands = [Line(f"  {command}") for command in TO_BEGIN]
        return _joined([head, [*_wrapped(EMPTY, width), *commands]], colour)
    sections = (
        head,
        _answers(report, standings, num_checks, width),
        _nodes(standings, top, width),
        _over_time(report, width),
        _causes(report, width),
        _projection(report, width),
        _lifetime(report, width),
        _checkpoints(report, width),
        _spares(report, width),
        _items("Counters before faults", precursors.sentences(standings), width),
        _items("Heat", heat.sentences(report.get("telemetry") or {}), width),
        _items("Notes", [*report["notes"], *standings["notes"]], width),
    )
    return _joined(sections, colour)


def _joined(sections: Sequence[Sequence[Line]], colour: bool) -> str:
    blocks = ("\n".join(painted(line, colour) for line in lines) for lines in sections if lines)
    return "\n\n".join(blocks) + "\n"


def _wrapped(text: str, width: int, first: str = "", colour: str = "") -> list[Line]:
    """Foreign text, cleaned, in lines that begin with ``first``."""
    return [Line(line, colour) for line in wrap(one_line(text), width, first=first)]


def _items(title: str, texts: Iterable[str], width: int) -> list[Line]:
    """A list under its title; nothing without an item."""
    items = [line for text in texts for line in _wrapped(text, width, "  - ")]
    return [Line(title, _BOLD), *items] if items else []


def _table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Iterable[str],
    width: int,
) -> list[Line]:
    """A table under its title, with what is to be said of it; nothing without a row."""
    if not rows:
        return []
    items = [line for note in notes for line in _wrapped(note, width, "  - ")]
    return [Line(title, _BOLD), *as_lines(head, rows, width), *items]


def _answers(report: Wire, standings: Wire, num_checks: int, width: int) -> list[Line]:
    lines: list[Line] = []
    for answer in answers(report, standings, num_checks):
        lines += _wrapped(answer.text, width, "* ", _TONES.get(answer.tone, _BOLD))
        lines += _wrapped(answer.why, width, "  ", _DIM) if answer.why else []
    return lines


def _nodes(standings: Wire, top: int, width: int) -> list[Line]:
    shown = [row for row in standings["nodes"] if row["grade"] in STANDS_OUT]
    if not shown:
        return []
    lines = _items("Nodes that stand out", [summary_of_nodes(standings)], width)
    for row in shown[:top]:
        rate = rate_text(row, " per 1,000 node-days")
        tone = _TONES["bad" if row["grade"] == "lemon" else "may"]
        text = f"{one_line(row['node'])}: {row['grade']}{f', {rate}' if rate else ''}"
        lines += _wrapped(text, width, "  ", tone)
        lines += [line for reason in row["reasons"] for line in _wrapped(reason, width, "    - ")]
    if len(shown) > top:
        more = f"and {count(len(shown) - top, 'more node')} (--top N)"
        lines += _wrapped(more, width, "  - ")
    leaves = [part["text"] for part in standings["parts"] if part["kind"] == "leaf_switch"]
    for text in leaves[:top]:
        lines += _wrapped(text, width, "  ", _TONES["bad"])
    return lines


def _over_time(report: Wire, width: int) -> list[Line]:
    if nothing_ran(report):
        return []
    windows = report["over_time"]
    if len(windows) < 2:
        return []
    rows = [
        (
            f"{day_of(row['from'], with_year=False)} to {day_of(row['to'], with_year=False)}",
            f"{row['events']:,}",
            f"{row['gpu_hours']:,.0f}",
            duration(job_mtti(report, row)),
        )
        for row in windows[-_MAX_WINDOWS:]
    ]
    head = ("window", "#interruptions", "#GPU-hours", f"#{reference_job(report)} runs")
    left = len(windows) - len(rows)
    more = [f"and {count(left, 'earlier window')} (--format json)"] if left else []
    return _table("Over time", head, rows, more, width)


def _causes(report: Wire, width: int) -> list[Line]:
    if not report["mix"]["count"]:
        return []
    rows = [
        (
            row["row"],
            f"{row['count']:,}",
            by_unit(row["share"]),
            f"{row['llama3_count']:,}",
            share(row["llama3_share"]),
            "differs" if row["differs"] else "",
        )
        for row in causes.shown_rows(report)
        if row["count"]
    ]
    head = ("cause", "#here", "#share (95 %)", "#Llama 3", "#share", "beside chance")
    return _table("What fails", head, rows, [causes.summary(report)], width)


def _projection(report: Wire, width: int) -> list[Line]:
    reference = report["exposure"]["reference_gpus"]
    shared = projection.warnings(report)
    rows = [
        (
            f"{row['num_gpus']:,}",
            duration(row["mtti"]),
            hours(row["software_fixed"]) if row["software_fixed"] else "",
            "far from what was seen" if set(row["warnings"]).difference(shared) else "",
        )
        for row in report["projection"]
        if row["num_gpus"] in _SIZES or row["num_gpus"] == reference
    ]
    head = ("#GPUs", "#between two interruptions", "#software as now", "beware")
    beware = [f"beware: {text}" for text in shared]
    return _table("How long a job runs", head, rows, beware, width)


def _lifetime(report: Wire, width: int) -> list[Line]:
    rows = [(mark(row["hours"]), by_unit(row["probability"])) for row in report["survival"]]
    title = f"How likely {reference_job(report)} is to last"
    return _table(title, ("#time", "#probability"), rows, lifetime.sentences(report), width)


def _checkpoints(report: Wire, width: int) -> list[Line]:
    rows = [
        (
            mark(row["cost_s"] / 3600),
            duration(row["young"], 1 / 3600),
            by_unit(row["loss_without_restart"]),
            by_unit(row["loss"]),
        )
        for row in sorted(report["checkpoints"], key=lambda row: float(row["cost_s"]))
        if row["young"]["value"]
    ]
    restart = mark(report["options"]["restart_s"] / 3600)
    head = ("#checkpoint", "#every (Young)", "#lost", f"#and {restart} restarts")
    return _table("How often to checkpoint", head, rows, effective_time(report), width)


def _spares(report: Wire, width: int) -> list[Line]:
    rows = [
        (
            _TAKES_OUT.get(row["basis"], row["basis"]),
            away(row),
            figure(row["spares"]["mean_down"]),
            *(f"{row['spares'][key]:,}" for key in ("at_95", "at_99", "at_999")),
        )
        for row in report["spares"]
    ]
    if not rows:
        return []
    nodes = count(report["spares"][0]["spares"]["num_nodes"], "node")
    head = ("what takes a node out", "#away for", "#away at once", "#95 %", "#99 %", "#99.9 %")
    return _table(f"Spares for {nodes}", head, rows, _own_notes(report), width)


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _own_notes(report: Wire) -> list[str]:
    """The forecast with its bounds, what it saves, and why it is none or may be too low."""
    absent = report["away"]
    if absent is None or not absent["outages"]:
        return []
    said = absent["forecast"]
    lines = list(said["notes"])
    if said["value"] is not None:
        lines.insert(
            0, f"forecast at 99 %: {with_interval(said, _whole)}, by the method {absent['method']}"
        )
    row = next((row for row in absent["costs"] if row["spares"] >= absent["in_sample"]), None)
    if row is not None:
        lines.append(
            f"{count(row['spares'], 'spare')}: {row['node_days']:,.0f} node-days a month, and"
            f" {figure(row['node_hours_short'])} node-hours short; without any"
            f" {figure(absent['costs'][0]['node_hours_short'])}"
        )
    following = report["next_period"]
    if following is not None and following["outages"]["n"]:
        expected = with_interval(following["outages"], _whole)
        lines.append(f"outages in the next {mark(following['days'] * 24)}: {expected}")
    return lines
