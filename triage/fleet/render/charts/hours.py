"""Hours of the day at which jobs are interrupted: heat and people come by the clock."""

from typing import Final

from triage.fleet.render.charts.chart import (
    BOTTOM,
    HOURS,
    TOP,
    framed,
    hour_axis,
    hour_x,
    level_line,
    rect,
    ticks_beside,
)
from triage.fleet.render.charts.scale import linear
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import Wire, clock, share
from triage.render.pictures.markup import Html, constant

__all__ = ["as_svg", "as_table", "summary"]

_HEIGHT: Final = 220
# A p-value below this is called a clear hour.
_CLEAR: Final = 0.05


def as_svg(report: Wire) -> Html:
    """Bars by hour; nothing for a handful of stops."""
    counts = report["hours_of_day"]["counts"]
    if report["hours_of_day"]["p_value"] is None or len(counts) != HOURS:
        return constant("")
    floor = _HEIGHT - BOTTOM
    y = linear(counts, floor, TOP)
    wide = round(hour_x(1) - hour_x(0) - 4, 1)
    bars = (
        rect(hour_x(hour) + 2, y.at(number), wide, round(floor - y.at(number), 1), "bar")
        for hour, number in enumerate(counts)
    )
    return framed(
        "Interruptions by hour of the day",
        summary(report),
        ticks_beside(y, lambda number: f"{number:g}", "Interruptions"),
        *bars,
        level_line(y.at(sum(counts) / HOURS)),
        hour_axis(floor, _zone(report)),
        height=_HEIGHT,
    )


def summary(report: Wire) -> str:
    """Whether an hour stands out."""
    hours = report["hours_of_day"]
    peak = hours["peak_hour"]
    if hours["p_value"] is None:
        return "Too few interruptions to tell one hour from another."
    if hours["p_value"] >= _CLEAR or peak["value"] is None:
        return f"No hour of the day stands out (Rayleigh test, p = {hours['p_value']:.2g})."
    span = f" ({clock(peak['low'])} to {clock(peak['high'])})" if peak["low"] is not None else ""
    return (
        f"Interruptions gather around {clock(peak['value'])}{span}, {_zone(report)}:"
        f" Rayleigh test, p = {hours['p_value']:.2g}."
    )


def as_table(report: Wire) -> Html:
    """The hours as rows."""
    counts = report["hours_of_day"]["counts"]
    total = sum(counts)
    rows = (
        (f"{hour:02d}:00", f"{number:,}", share(number / total if total else None))
        for hour, number in enumerate(counts)
    )
    return table("Interruptions by hour", ("Hour", "#Interruptions", "#Share"), rows)


def _zone(report: Wire) -> str:
    offset = report["options"]["utc_offset_hours"]
    return f"UTC{offset:+g} h" if offset else "UTC"
