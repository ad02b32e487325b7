"""Hours of the day at which jobs are interrupted: heat and people come by the clock."""

from collections.abc import Mapping
from typing import Any, Final

from triage.fleet.render.charts.chart import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    framed,
    line,
    rect,
    text,
    ticks_beside,
)  # fmt: skip
from triage.fleet.render.charts.scale import linear
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import clock, share
from triage.render.pictures.markup import Html, constant, join

__all__ = ["as_svg", "as_table", "said"]

Report = Mapping[str, Any]

_HEIGHT: Final = 220
_HEAD: Final = 16
_HOURS: Final = 24
_CLEAR: Final = 0.05


def as_svg(report: Report) -> Html:
    """Bars by hour; nothing for a handful of stops."""
    counts = report["hours_of_day"]["counts"]
    if report["hours_of_day"]["p_value"] is None or len(counts) != _HOURS:
        return constant("")
    floor = _HEIGHT - BOTTOM
    y = linear(counts, floor, TOP + _HEAD)
    wide = (WIDTH - RIGHT - LEFT) / _HOURS
    bars = [
        rect(
            round(LEFT + hour * wide + 2, 1), y.at(number), round(wide - 4, 1),
            round(floor - y.at(number), 1), "bar",
        )
        for hour, number in enumerate(counts)
    ]  # fmt: skip
    marks = [
        text(round(LEFT + hour * wide, 1), floor + 16, f"{hour:02d}:00", "soft", "middle")
        for hour in range(0, _HOURS + 1, 3)
    ]
    mean = sum(counts) / _HOURS
    return framed(
        "Interruptions by hour of the day",
        said(report),
        ticks_beside(y, lambda one: f"{one:g}", LEFT, WIDTH - RIGHT, "Interruptions"),
        join(bars),
        line([(LEFT, y.at(mean)), (WIDTH - RIGHT, y.at(mean))], "mean"),
        join(marks),
        text((LEFT + WIDTH - RIGHT) / 2, floor + 34, f"Hour of the day, {_zone(report)}", "name",
             "middle"),
        height=_HEIGHT,
    )  # fmt: skip


def said(report: Report) -> str:
    """Whether an hour stands out."""
    found = report["hours_of_day"]
    peak = found["peak_hour"]
    if found["p_value"] is None:
        return "Too few interruptions to tell one hour from another."
    if found["p_value"] >= _CLEAR or peak["value"] is None:
        return f"No hour of the day stands out (Rayleigh test, p = {found['p_value']:.2g})."
    span = f" ({clock(peak['low'])} to {clock(peak['high'])})" if peak["low"] is not None else ""
    return (
        f"Interruptions gather around {clock(peak['value'])}{span}, {_zone(report)}:"
        f" Rayleigh test, p = {found['p_value']:.2g}."
    )


def as_table(report: Report) -> Html:
    """The hours as rows."""
    counts = report["hours_of_day"]["counts"]
    total = sum(counts)
    rows = (
        (f"{hour:02d}:00", f"{number:,}", share(number / total if total else None))
        for hour, number in enumerate(counts)
    )
    return table("Interruptions by hour", ("Hour", "#Interruptions", "#Share"), rows)


def _zone(report: Report) -> str:
    offset = report["options"]["utc_offset_hours"]
    return f"UTC{offset:+g} h" if offset else "UTC"
