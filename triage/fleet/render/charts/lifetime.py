"""How long it goes well: the times between stops as a survival curve, and the chance of a run.

The curve is Kaplan and Meier's over the gaps of the record; the dashed line is what one steady
rate would give. Where the two part, stops cluster or things wear out.
"""

import math
from collections.abc import Sequence

from triage.fleet.render.charts.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    Point,
    Scale,
    draw_area,
    draw_line,
    draw_ticks_below,
    draw_ticks_beside,
    make_chart_svg,
    make_linear_scale,
)
from triage.fleet.render.charts.table import Table, make_table
from triage.fleet.render.words import (
    Wire,
    format_by_unit,
    format_duration,
    format_figure,
    format_hours,
    mark,
    with_interval,
)
from triage.render.pictures.markup import Html, trust_markup

_DAY_H = 24.0
_POINTS = 60
# The last gaps are so few that the tail of the curve is a step or two.
_TAIL = 0.01


def as_svg(report: Wire) -> Html:
    """The curve; nothing without at least two gaps."""
    curve = report["gaps"]["curve"]
    times, alive = curve["times"], curve["alive"]
    shown = max(2, sum(share >= _TAIL for share in alive))
    if len(times) < 2:
        return trust_markup("")
    last = times[:shown][-1]
    unit_h, word = (_DAY_H, "days") if last > 4 * _DAY_H else (1.0, "hours")
    floor = HEIGHT - BOTTOM
    x = make_linear_scale([0.0, last / unit_h], LEFT, RIGHT)
    y = Scale(0.0, 1.0, floor, TOP, (0.0, 0.25, 0.5, 0.75, 1.0))

    def steps(heights: Sequence[float | None]) -> list[Point]:
        return _compute_steps([time / unit_h for time in times[:shown]], heights[:shown], x, y)

    return make_chart_svg(
        "Share of times between interruptions that last longer",
        f"Half of them are over after {format_duration(curve['median'])}.",
        draw_ticks_below(x, lambda time: f"{time:g}", floor, name=f"{word} without a stop"),
        draw_ticks_beside(y, lambda share: f"{100 * share:g} %", "Still undisturbed"),
        draw_area(steps(curve["low"]), steps(curve["high"]), "band"),
        draw_line(_compute_steady(report, unit_h, x, y), "theirs"),
        draw_line(steps(alive), "curve"),
    )


def _compute_steps(
    times: Sequence[float], heights: Sequence[float | None], x: Scale, y: Scale
) -> list[Point]:
    """A line that starts at 1, is level until each time, then steps down."""
    points, height = [(x.at(0.0), y.at(1.0))], 1.0
    for time, value in zip(times, heights, strict=True):
        points.append((x.at(time), y.at(height)))
        height = height if value is None else value
        points.append((x.at(time), y.at(height)))
    return points


def _compute_steady(report: Wire, unit_h: float, x: Scale, y: Scale) -> list[Point]:
    """exp(-t / mean), the survival curve of gaps at one steady rate."""
    mean = report["rates"]["calendar_mtti"]["value"]
    if not mean:
        return []
    times = (x.high * place / _POINTS for place in range(_POINTS + 1))
    return [(x.at(time), y.at(math.exp(-time * unit_h / mean))) for time in times]


def describe_lifetime(report: Wire) -> list[str]:
    """What curve and shape say."""
    median, weibull = report["gaps"]["curve"]["median"]["value"], report["gaps"]["weibull"]
    found = []
    if median is not None:
        found.append(f"Half of the times between two stops are over after {format_hours(median)}.")
    shape = with_interval(weibull["shape"])
    if weibull["reading"] == "constant rate":
        found.append(f"Weibull shape {shape}: a stop is as likely at any time.")
    elif weibull["reading"] == "infant mortality":
        found.append(f"Weibull shape {shape}, below 1: a stop is likeliest soon after the last.")
    elif weibull["reading"]:
        found.append(f"Weibull shape {shape}, above 1: stops come at more regular times.")
    index = report["dispersion"]["index"]
    if report["dispersion"]["clustered"]:
        found.append(
            f"Stops come in clusters: daily counts vary {format_figure(index)} times as much as"
            f" chance"
            " gives, and all intervals are widened for it."
        )
    return found


def build_table(report: Wire) -> Table | None:
    """Times by the share of gaps that last longer."""
    curve = report["gaps"]["curve"]
    rows = []
    for wanted in (0.9, 0.75, 0.5, 0.25, 0.1, 0.05):
        points = zip(curve["times"], curve["alive"], strict=True)
        time = next((time for time, share in points if share <= wanted), None)
        if time is not None:
            rows.append((f"{100 * wanted:g} %", format_hours(time)))
    return make_table("Times between interruptions", ("Share that lasts longer", "#Than"), rows)


def build_chance_table(report: Wire) -> Table | None:
    """How likely the reference job is to run for some times without an interruption."""
    rows = [(mark(row["hours"]), format_by_unit(row["probability"])) for row in report["survival"]]
    if not rows:
        return None
    size = report["survival"][0]["num_gpus"]
    caption = f"A job of {size:,} GPUs runs undisturbed for"
    return make_table(caption, ("Time", "#Probability"), rows)
