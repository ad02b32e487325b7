"""The fleet report for people on a terminal: the answers, then the tables they rest on.

Takes the wire forms of report and standings. Plain ASCII of our own; what comes from the
record is cleaned and cut. Pictures are for pages; here a row is a window, a size, a cause.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts import causes, heat, lifetime, projection
from triage.fleet.render.charts.over_time import describe_reference_job, get_job_mtti
from triage.fleet.render.charts.plan import describe_away, describe_effective_time
from triage.fleet.render.page.nodes import format_node_rate
from triage.fleet.render.page.nodes import summarize_standings as summary_of_nodes
from triage.fleet.render.sentences import (
    EMPTY,
    STANDS_OUT,
    TO_BEGIN,
    format_period,
    is_empty,
    is_without_runs,
    list_headlines,
)
from triage.fleet.render.terminal.lists import format_table_lines
from triage.fleet.render.words import (
    Wire,
    format_by_unit,
    format_duration,
    format_figure,
    format_hours,
    format_share,
    format_utc_day,
    mark,
    with_interval,
)
from triage.render.terminal.text import Line, paint_line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import format_one_line

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
    head = _wrap_text(f"The fleet, {format_period(report)}", width, colour=_BOLD)
    if is_empty(report, standings):
        commands = [Line(f"  {command}") for command in TO_BEGIN]
        return _join_sections([head, [*_wrap_text(EMPTY, width), *commands]], colour)
    sections = (
        head,
        _format_answers(report, standings, num_checks, width),
        _format_nodes(standings, top, width),
        _format_over_time(report, width),
        _format_causes(report, width),
        _format_projection(report, width),
        _format_lifetime(report, width),
        _format_checkpoints(report, width),
        _format_spares(report, width),
        _format_items("Heat", heat.describe_heat(report.get("telemetry") or {}), width),
        _format_items("Notes", [*report["notes"], *standings["notes"]], width),
    )
    return _join_sections(sections, colour)


def _join_sections(sections: Sequence[Sequence[Line]], colour: bool) -> str:
    blocks = ("\n".join(paint_line(line, colour) for line in lines) for lines in sections if lines)
    return "\n\n".join(blocks) + "\n"


def _wrap_text(text: str, width: int, first: str = "", colour: str = "") -> list[Line]:
    """Foreign text, cleaned, in lines that begin with ``first``."""
    return [Line(line, colour) for line in wrap(format_one_line(text), width, first=first)]


def _format_items(title: str, texts: Iterable[str], width: int) -> list[Line]:
    """A list under its title; nothing without an item."""
    items = [line for text in texts for line in _wrap_text(text, width, "  - ")]
    return [Line(title, _BOLD), *items] if items else []


def _format_table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Iterable[str],
    width: int,
) -> list[Line]:
    """A table under its title, with what is to be said of it; nothing without a row."""
    if not rows:
        return []
    items = [line for note in notes for line in _wrap_text(note, width, "  - ")]
    return [Line(title, _BOLD), *format_table_lines(head, rows, width), *items]


def _format_answers(report: Wire, standings: Wire, num_checks: int, width: int) -> list[Line]:
    lines: list[Line] = []
    for answer in list_headlines(report, standings, num_checks):
        lines += _wrap_text(answer.text, width, "* ", _TONES.get(answer.tone, _BOLD))
        lines += _wrap_text(answer.why, width, "  ", _DIM) if answer.why else []
    return lines


def _format_nodes(standings: Wire, top: int, width: int) -> list[Line]:
    shown = [row for row in standings["nodes"] if row["grade"] in STANDS_OUT]
    if not shown:
        return []
    lines = _format_items("Nodes that stand out", [summary_of_nodes(standings)], width)
    for row in shown[:top]:
        rate = format_node_rate(row, " per 1,000 node-days")
        tone = _TONES["bad" if row["grade"] == "lemon" else "may"]
        text = f"{format_one_line(row['node'])}: {row['grade']}{f', {rate}' if rate else ''}"
        lines += _wrap_text(text, width, "  ", tone)
        lines += [line for reason in row["reasons"] for line in _wrap_text(reason, width, "    - ")]
    if len(shown) > top:
        more = f"and {count(len(shown) - top, 'more node')} (--top N)"
        lines += _wrap_text(more, width, "  - ")
    leaves = [part["text"] for part in standings["parts"] if part["kind"] == "leaf_switch"]
    for text in leaves[:top]:
        lines += _wrap_text(text, width, "  ", _TONES["bad"])
    return lines


def _format_over_time(report: Wire, width: int) -> list[Line]:
    if is_without_runs(report):
        return []
    windows = report["over_time"]
    if len(windows) < 2:
        return []
    rows = [
        (
            f"{format_utc_day(row['from'], with_year=False)} to"
            f" {format_utc_day(row['to'], with_year=False)}",
            f"{row['events']:,}",
            f"{row['gpu_hours']:,.0f}",
            format_duration(get_job_mtti(report, row)),
        )
        for row in windows[-_MAX_WINDOWS:]
    ]
    head = ("window", "#interruptions", "#GPU-hours", f"#{describe_reference_job(report)} runs")
    left = len(windows) - len(rows)
    more = [f"and {count(left, 'earlier window')} (--format json)"] if left else []
    return _format_table("Over time", head, rows, more, width)


def _format_causes(report: Wire, width: int) -> list[Line]:
    if not report["mix"]["count"]:
        return []
    rows = [
        (
            row["row"],
            f"{row['count']:,}",
            format_by_unit(row["share"]),
            f"{row['llama3_count']:,}",
            format_share(row["llama3_share"]),
            "differs" if row["differs"] else "",
        )
        for row in causes.select_shown_rows(report)
        if row["count"]
    ]
    head = ("cause", "#here", "#share (95 %)", "#Llama 3", "#share", "beside chance")
    return _format_table("What fails", head, rows, [causes.summarize_causes(report)], width)


def _format_projection(report: Wire, width: int) -> list[Line]:
    reference = report["exposure"]["reference_gpus"]
    shared = projection.list_shared_warnings(report)
    rows = [
        (
            f"{row['num_gpus']:,}",
            format_duration(row["mtti"]),
            format_hours(row["software_fixed"]) if row["software_fixed"] else "",
            "far from what was seen" if set(row["warnings"]).difference(shared) else "",
        )
        for row in report["projection"]
        if row["num_gpus"] in _SIZES or row["num_gpus"] == reference
    ]
    head = ("#GPUs", "#between two interruptions", "#software as now", "beware")
    beware = [f"beware: {text}" for text in shared]
    return _format_table("How long a job runs", head, rows, beware, width)


def _format_lifetime(report: Wire, width: int) -> list[Line]:
    rows = [(mark(row["hours"]), format_by_unit(row["probability"])) for row in report["survival"]]
    title = f"How likely {describe_reference_job(report)} is to last"
    return _format_table(
        title, ("#time", "#probability"), rows, lifetime.describe_lifetime(report), width
    )


def _format_checkpoints(report: Wire, width: int) -> list[Line]:
    rows = [
        (
            mark(row["cost_s"] / 3600),
            format_duration(row["young"], 1 / 3600),
            format_by_unit(row["loss_without_restart"]),
            format_by_unit(row["loss"]),
        )
        for row in sorted(report["checkpoints"], key=lambda row: float(row["cost_s"]))
        if row["young"]["value"]
    ]
    restart = mark(report["options"]["restart_s"] / 3600)
    head = ("#checkpoint", "#every (Young)", "#lost", f"#and {restart} restarts")
    return _format_table(
        "How often to checkpoint", head, rows, describe_effective_time(report), width
    )


def _format_spares(report: Wire, width: int) -> list[Line]:
    rows = [
        (
            _TAKES_OUT.get(row["basis"], row["basis"]),
            describe_away(row),
            format_figure(row["spares"]["mean_down"]),
            *(f"{row['spares'][key]:,}" for key in ("at_95", "at_99", "at_999")),
        )
        for row in report["spares"]
    ]
    if not rows:
        return []
    nodes = count(report["spares"][0]["spares"]["num_nodes"], "node")
    head = ("what takes a node out", "#away for", "#away at once", "#95 %", "#99 %", "#99.9 %")
    return _format_table(f"Spares for {nodes}", head, rows, _own_notes(report), width)


def _format_whole(value: float) -> str:
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
            0,
            f"forecast at 99 %: {with_interval(said, _format_whole)}, by the method"
            f" {absent['method']}",
        )
    row = next((row for row in absent["costs"] if row["spares"] >= absent["in_sample"]), None)
    if row is not None:
        lines.append(
            f"{count(row['spares'], 'spare')}: {row['node_days']:,.0f} node-days a month, and"
            f" {format_figure(row['node_hours_short'])} node-hours short; without any"
            f" {format_figure(absent['costs'][0]['node_hours_short'])}"
        )
    following = report["next_period"]
    if following is not None and following["outages"]["n"]:
        expected = with_interval(following["outages"], _format_whole)
        lines.append(f"outages in the next {mark(following['days'] * 24)}: {expected}")
    return lines
