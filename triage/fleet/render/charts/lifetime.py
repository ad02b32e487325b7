"""How long it goes well: the times between stops as a survival curve, and the chance of a run.

The curve is Kaplan and Meier's over the gaps of the record; the dashed line is what one steady
rate would give. Where the two part, stops cluster or things wear out.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from triage.fleet.render.charts.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Point,
    area,
    framed,
    line,
    ticks_below,
    ticks_beside,
)  # fmt: skip
from triage.fleet.render.charts.scale import Scale, linear
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import by_unit, duration, figure, hours, mark, told
from triage.render.pictures.markup import Html, constant

__all__ = ["as_svg", "as_table", "chances", "said"]

Report = Mapping[str, Any]

_HEAD = 16
_DAY_H = 24.0
_POINTS = 60
# The last gaps are so few that the tail of the curve is a step or two.
_TAIL = 0.01


def as_svg(report: Report) -> Html:
    """The curve; nothing without at least two gaps."""
    curve = report["gaps"]["curve"]
    times, alive = curve["times"], curve["alive"]
    shown = max(2, sum(one >= _TAIL for one in alive))
    if len(times) < 2:
        return constant("")
    last = times[:shown][-1]
    unit_h, word = (_DAY_H, "days") if last > 4 * _DAY_H else (1.0, "hours")
    floor = HEIGHT - BOTTOM
    x = linear([0.0, last / unit_h], LEFT, WIDTH - RIGHT)
    y = Scale(0.0, 1.0, floor, TOP + _HEAD, (0.0, 0.25, 0.5, 0.75, 1.0))

    def steps(heights: Sequence[float | None]) -> list[Point]:
        return _steps([one / unit_h for one in times[:shown]], heights[:shown], x, y)

    return framed(
        "Share of times between interruptions that last longer",
        f"Half of them are over after {duration(curve['median'])}.",
        ticks_below(x, lambda one: f"{one:g}", floor, TOP + _HEAD, f"{word} without a stop"),
        ticks_beside(y, lambda one: f"{100 * one:g} %", LEFT, WIDTH - RIGHT, "Still undisturbed"),
        area(steps(curve["low"]), steps(curve["high"]), "band"),
        line(_steady(report, unit_h, x, y), "theirs"),
        line(steps(alive), "curve"),
    )


def _steps(
    times: Sequence[float], heights: Sequence[float | None], x: Scale, y: Scale
) -> list[Point]:
    """From one, level until each time, then down."""
    points, height = [(x.at(0.0), y.at(1.0))], 1.0
    for time, value in zip(times, heights, strict=True):
        points.append((x.at(time), y.at(height)))
        height = height if value is None else value
        points.append((x.at(time), y.at(height)))
    return points


def _steady(report: Report, unit_h: float, x: Scale, y: Scale) -> list[Point]:
    """exp(-t / mean): what gaps at one rate would do."""
    mean = report["rates"]["calendar_mtti"]["value"]
    if not mean:
        return []
    found = (x.high * place / _POINTS for place in range(_POINTS + 1))
    return [(x.at(one), y.at(math.exp(-one * unit_h / mean))) for one in found]


def said(report: Report) -> list[str]:
    """What curve and shape say, in sentences."""
    curve, weibull = report["gaps"]["curve"], report["gaps"]["weibull"]
    found = []
    if curve["median"]["value"] is not None:
        found.append(f"Half of the times between two stops are over after {hours(_median(curve))}.")
    shape = told(weibull["shape"])
    if weibull["reading"] == "constant rate":
        found.append(f"Weibull shape {shape}: a stop is as likely at any time.")
    elif weibull["reading"] == "infant mortality":
        found.append(f"Weibull shape {shape}, below 1: a stop is likeliest soon after the last.")
    elif weibull["reading"]:
        found.append(f"Weibull shape {shape}, above 1: stops come at more regular times.")
    index = report["dispersion"]["index"]
    if report["dispersion"]["clustered"]:
        found.append(f"Stops come in clusters: daily counts vary {figure(index)} times as much as"
                     " chance gives, and all intervals are widened for it.")  # fmt: skip
    return found


def _median(curve: Mapping[str, Any]) -> float:
    value: float = curve["median"]["value"]
    return value


def as_table(report: Report) -> Html:
    """Times by the share of gaps that last longer."""
    curve = report["gaps"]["curve"]
    rows = []
    for wanted in (0.9, 0.75, 0.5, 0.25, 0.1, 0.05):
        found = (t for t, one in zip(curve["times"], curve["alive"], strict=True) if one <= wanted)
        at = next(found, None)
        if at is not None:
            rows.append((f"{100 * wanted:g} %", hours(at)))
    return table("Times between interruptions", ("Share that lasts longer", "#Than"), rows)


def chances(report: Report) -> Html:
    """How likely the reference job is to run so long without an interruption."""
    rows = [(mark(one["hours"]), by_unit(one["probability"])) for one in report["survival"]]
    if not rows:
        return constant("")
    size = report["survival"][0]["num_gpus"]
    caption = f"A job of {size:,} GPUs runs undisturbed for"
    return table(caption, ("Time", "#Probability"), rows)
