"""Time between interruptions, window by window, each with its band.

Windows of the record hold few stops, so their bands are wide: the dashed line is that of the
whole record, and only a window whose band leaves it says something by itself.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from triage.fleet.render.charts.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Tick,
    area,
    framed,
    line,
    text,
    ticks_beside,
)  # fmt: skip
from triage.fleet.render.charts.scale import Scale, clock
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import Estimate, count, duration, mark
from triage.render.pictures.markup import Html, constant, el, join

__all__ = ["as_svg", "as_table", "day_of", "is_silent", "job_mtti", "what"]

Report = Mapping[str, Any]

_HEAD: Final = 16
_MAX_DATES: Final = 8
_DOT: Final = 4


def job_mtti(report: Report, window: Mapping[str, Any]) -> Estimate:
    """The MTTI in hours, of a job of the reference size where one is known.

    A record of jobs of many sizes has no other figure that can be compared over time.
    """
    reference = report["exposure"]["reference_gpus"]
    mine: Estimate = window["mtti"]
    if not reference or not window["gpu_hours"]:
        return mine
    gpu_hours = window["gpu_hours_between"]
    scaled = {
        key: None if gpu_hours[key] is None else gpu_hours[key] / reference
        for key in ("value", "low", "high")
    }
    return {**mine, **scaled}


def what(report: Report) -> str:
    """``a job of 16,384 GPUs``, as far as it is known."""
    reference = report["exposure"]["reference_gpus"]
    return f"a job of {reference:,} GPUs" if reference else "a job"


def as_svg(report: Report) -> Html:
    """The picture; nothing for fewer than two windows, or without one interruption."""
    windows = report["over_time"]
    found = [job_mtti(report, one) for one in windows]
    known = [one[key] for one in found for key in ("value", "low", "high") if one[key]]
    if len(windows) < 2 or not known or is_silent(report):
        return constant("")
    floor = HEIGHT - BOTTOM
    top = TOP + _HEAD
    y = clock(known, floor, top)
    start, end = _moment(windows[0]["from"]), _moment(windows[-1]["to"])
    x = Scale(start, end, LEFT, WIDTH - RIGHT, ())
    mean = report["reference_mtti"]["value"]
    return framed(
        f"Time between interruptions of {what(report)}, over time",
        f"{count(len(windows), 'window')}; the band is the 95 % interval of each.",
        ticks_beside(y, mark, LEFT, WIDTH - RIGHT, "Time between interruptions"),
        _dates(windows, x, floor),
        _steps(windows, found, x, y),
        line([(LEFT, y.at(mean)), (WIDTH - RIGHT, y.at(mean))], "mean") if mean else None,
    )


def is_silent(report: Report) -> bool:
    """Whether neither a run nor a stop is known: then there is no time between stops either."""
    return not report["exposure"]["runs"] and not report["stops"]["unexpected"]


def _steps(
    windows: Sequence[Mapping[str, Any]], found: Sequence[Estimate], x: Scale, y: Scale
) -> Html:
    """A band for each window; a dot is a figure, a hollow one a bound: no stop was seen."""
    drawn: list[Html] = []
    through = []
    for window, one in zip(windows, found, strict=True):
        left, right = x.at(_moment(window["from"])), x.at(_moment(window["to"]))
        low, high = one["low"] or y.low, one["high"] or y.high
        if one["low"] is not None:
            edges = [(left + 1, y.at(high)), (right - 1, y.at(high))]
            drawn.append(area([(left + 1, y.at(low)), (right - 1, y.at(low))], edges, "window"))
        middle = (left + right) / 2
        if one["value"]:
            through.append((middle, y.at(one["value"])))
            drawn.append(_dot(middle, y.at(one["value"]), "dot"))
        elif one["low"]:
            drawn.append(_dot(middle, y.at(one["low"]), "dot none"))
    return join((line(through, "through"), *drawn))


def _dot(x: float, y: float, name: str) -> Html:
    return el("circle", {"class": name, "cx": x, "cy": y, "r": _DOT})


def _dates(windows: Sequence[Mapping[str, Any]], x: Scale, floor: float) -> Html:
    skip = -(-len(windows) // _MAX_DATES)
    ticks = [
        Tick(x.at(_moment(one["from"])), day_of(one["from"], with_year=place == 0))
        for place, one in enumerate(windows)
        if place % skip == 0
    ]
    return join(
        join(
            (
                el("path", {"class": "tick", "d": f"M{tick.at:g} {floor}v5"}),
                text(tick.at, floor + 18, tick.word, "soft", "start"),
            )
        )
        for tick in ticks
    )


def as_table(report: Report) -> Html:
    """The windows as rows, the newest first."""
    rows = (
        (
            f"{day_of(one['from'], with_year=True)} to {day_of(one['to'], with_year=False)}",
            f"{one['events']:,}",
            f"{one['gpu_hours']:,.0f}" if one["gpu_hours"] else f"{one['job_hours']:,.0f} job-h",
            duration(job_mtti(report, one)),
        )
        for one in reversed(report["over_time"])
    )
    head = ("Window", "#Interruptions", "#GPU-hours", f"#Between two, of {what(report)}")
    return table("Interruptions over time", head, rows)


def _moment(text_of: str) -> float:
    return datetime.fromisoformat(text_of).timestamp()


def day_of(text_of: str, *, with_year: bool = True) -> str:
    """``1 Oct 2026`` of a time over the wire, in UTC."""
    at = datetime.fromisoformat(text_of).astimezone(UTC)
    return f"{at.day} {at:%b %Y}" if with_year else f"{at.day} {at:%b}"
