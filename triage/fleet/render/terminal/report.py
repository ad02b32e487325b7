"""The fleet report for people on a terminal: the answers, then the tables they rest on.

Takes the wire forms of report and standings. Plain ASCII of our own; what comes from the
record is cleaned and cut. Pictures are for pages; here a row is a window, a size, a cause.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.fleet.render.charts.causes import said as said_of_causes
from triage.fleet.render.charts.causes import shown_rows
from triage.fleet.render.charts.heat import said as said_of_heat
from triage.fleet.render.charts.lifetime import said as said_of_gaps
from triage.fleet.render.charts.over_time import day_of, job_mtti, what
from triage.fleet.render.charts.plan import away, effective
from triage.fleet.render.charts.projection import warnings
from triage.fleet.render.page.nodes import said as said_of_nodes
from triage.fleet.render.sentences import EMPTY, TO_BEGIN, answers, is_empty, period_text
from triage.fleet.render.terminal.table import as_lines
from triage.fleet.render.words import by_unit, count, duration, figure, hours, mark, share
from triage.render.terminal.text import Line, painted
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import one_line

__all__ = ["render"]

Wire = Mapping[str, Any]

_WIDTH: Final = 80
_TOP: Final = 10
_MAX_WINDOWS: Final = 13
_BOLD, _DIM = "1", "2"
_TONES: Final = {"bad": "1;31", "may": "33", "good": "32"}
_TOLD: Final = frozenset({"lemon", "watch"})
# The bases of spares in few words: beside six columns of figures.
_TAKES_OUT: Final = {
    "every stop": "every interruption",
    "hardware": "hardware faults alone",
    "outages": "outages as on record",
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
    head = [Line(one, _BOLD) for one in wrap(f"The fleet, {_clean(period_text(report))}", width)]
    if is_empty(report, standings):
        return _joined([head, _nothing(width)], colour)
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
        _heat(report.get("telemetry") or {}, width),
        _notes([*report["notes"], *standings["notes"]], width),
    )
    return _joined(sections, colour)


def _joined(sections: Sequence[Sequence[Line]], colour: bool) -> str:
    blocks = ("\n".join(painted(line, colour) for line in lines) for lines in sections if lines)
    return "\n\n".join(blocks) + "\n"


def _nothing(width: int) -> list[Line]:
    lines = [Line(one) for one in wrap(EMPTY, width)]
    return [*lines, *(Line(f"  {one}") for one in TO_BEGIN)]


def _answers(report: Wire, standings: Wire, num_checks: int, width: int) -> list[Line]:
    lines: list[Line] = []
    for one in answers(report, standings, num_checks):
        tone = _TONES.get(one.tone, _BOLD)
        lines += [Line(text, tone) for text in wrap(_clean(one.text), width, first="* ")]
        if one.why:
            lines += [Line(text, _DIM) for text in wrap(_clean(one.why), width, first="  ")]
    return lines


def _nodes(standings: Wire, top: int, width: int) -> list[Line]:
    shown = [one for one in standings["nodes"] if one["grade"] in _TOLD]
    if not shown:
        return []
    lines = [Line("Nodes that stand out", _BOLD), *_item(said_of_nodes(standings), width)]
    for one in shown[:top]:
        rate = one["rate_per_1000_node_days"]
        figures = "" if rate is None else (
            f", {figure(rate)} per 1,000 node-days ({figure(one['rate_low'])} to"
            f" {figure(one['rate_high'])})"
        )  # fmt: skip
        tone = _TONES["bad" if one["grade"] == "lemon" else "may"]
        text = f"{_clean(one['node'])}: {one['grade']}{figures}"
        lines += [Line(row, tone) for row in wrap(text, width, first="  ")]
        for reason in one["reasons"]:
            lines += [Line(row) for row in wrap(_clean(reason), width, first="    - ")]
    if len(shown) > top:
        lines += _item(f"and {count(len(shown) - top, 'more node')} (--top N)", width)
    leaves = [one["text"] for one in standings["parts"] if one["kind"] == "leaf_switch"]
    for text in leaves[:top]:
        lines += [Line(row, _TONES["bad"]) for row in wrap(_clean(text), width, first="  ")]
    return lines


def _over_time(report: Wire, width: int) -> list[Line]:
    windows = report["over_time"]
    if len(windows) < 2:
        return []
    rows = [
        (
            f"{day_of(one['from'], with_year=False)} to {day_of(one['to'], with_year=False)}",
            f"{one['events']:,}",
            f"{one['gpu_hours']:,.0f}",
            duration(job_mtti(report, one)),
        )
        for one in windows[-_MAX_WINDOWS:]
    ]
    head = ("window", "#interruptions", "#GPU-hours", f"#{what(report)} runs")
    left = len(windows) - len(rows)
    more = _item(f"and {count(left, 'earlier window')} (--format json)", width) if left else []
    return [Line("Over time", _BOLD), *as_lines(head, rows, width), *more]


def _causes(report: Wire, width: int) -> list[Line]:
    if not report["mix"]["count"]:
        return []
    rows = [
        (
            one["row"],
            f"{one['count']:,}",
            by_unit(one["share"]),
            f"{one['llama3_count']:,}",
            share(one["llama3_share"]),
            "differs" if one["differs"] else "",
        )
        for one in shown_rows(report)
        if one["count"]
    ]
    head = ("cause", "#here", "#share (95 %)", "#Llama 3", "#share", "beside chance")
    said = _item(said_of_causes(report), width)
    return [Line("What fails", _BOLD), *as_lines(head, rows, width), *said]


def _projection(report: Wire, width: int) -> list[Line]:
    reference = report["exposure"]["reference_gpus"]
    shared = set(warnings(report))
    rows = [
        (
            f"{one['num_gpus']:,}",
            duration(one["mtti"]),
            hours(one["software_fixed"]) if one["software_fixed"] else "",
            "far from what was seen" if set(one["warnings"]) - shared else "",
        )
        for one in report["projection"]
        if one["num_gpus"] in _SIZES or one["num_gpus"] == reference
    ]
    if not rows:
        return []
    head = ("#GPUs", "#between two interruptions", "#software as now", "beware")
    said = [line for one in shared for line in _item(f"beware: {one}", width)]
    return [Line("How long a job runs", _BOLD), *as_lines(head, rows, width), *said]


def _lifetime(report: Wire, width: int) -> list[Line]:
    rows = [(mark(one["hours"]), by_unit(one["probability"])) for one in report["survival"]]
    if not rows:
        return []
    title = f"How likely {what(report)} is to last"
    said = [line for one in said_of_gaps(report) for line in _item(one, width)]
    return [Line(title, _BOLD), *as_lines(("#time", "#probability"), rows, width), *said]


def _checkpoints(report: Wire, width: int) -> list[Line]:
    rows = [
        (
            mark(one["cost_s"] / 3600),
            duration(one["young"], 1 / 3600),
            by_unit(one["loss_without_restart"]),
            by_unit(one["loss"]),
        )
        for one in sorted(report["checkpoints"], key=lambda one: float(one["cost_s"]))
        if one["young"]["value"]
    ]
    if not rows:
        return []
    restart = mark(report["options"]["restart_s"] / 3600)
    head = ("#checkpoint", "#every (Young)", "#lost", f"#and {restart} restarts")
    said = [line for one in effective(report) for line in _item(one, width)]
    return [Line("How often to checkpoint", _BOLD), *as_lines(head, rows, width), *said]


def _spares(report: Wire, width: int) -> list[Line]:
    rows = [
        (
            _TAKES_OUT.get(one["basis"], one["basis"]),
            away(one),
            figure(one["spares"]["mean_down"]),
            *(f"{one['spares'][key]:,}" for key in ("at_95", "at_99", "at_999")),
        )
        for one in report["spares"]
    ]
    if not rows:
        return []
    nodes = count(report["spares"][0]["spares"]["num_nodes"], "node")
    head = ("what takes a node out", "#away for", "#away at once", "#95 %", "#99 %", "#99.9 %")
    return [Line(f"Spares for {nodes}", _BOLD), *as_lines(head, rows, width)]


def _heat(telemetry: Wire, width: int) -> list[Line]:
    said = [line for one in said_of_heat(telemetry) for line in _item(one, width)]
    return [Line("Heat", _BOLD), *said] if said else []


def _notes(notes: Sequence[str], width: int) -> list[Line]:
    if not notes:
        return []
    return [Line("Notes", _BOLD), *(line for one in notes for line in _item(one, width))]


def _item(text: str, width: int) -> list[Line]:
    return [Line(one) for one in wrap(_clean(text), width, first="  - ")]


def _clean(text: str) -> str:
    return one_line(text)
