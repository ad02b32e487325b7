"""Time between interruptions, window by window, each with its band.

Windows of the record hold few stops, so their bands are wide: the dashed line is that of the
whole record, and only a window whose band leaves it says something by itself.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    Scale,
    area,
    clock,
    dot,
    framed,
    level_line,
    line,
    text,
    ticks_beside,
)
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import Estimate, Wire, day_of, duration, mark
from triage.render.pictures.markup import Html, constant, el, join

_MAX_DATES: Final = 8


def job_mtti(report: Wire, window: Wire) -> Estimate:
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


def reference_job(report: Wire) -> str:
    """``a job of 16,384 GPUs``; ``a job`` where no size is known."""
    reference = report["exposure"]["reference_gpus"]
    return f"a job of {reference:,} GPUs" if reference else "a job"


def as_svg(report: Wire) -> Html:
    """The picture; nothing for fewer than two windows, or without one interruption."""
    windows = report["over_time"]
    mttis = [job_mtti(report, window) for window in windows]
    known = [mtti[key] for mtti in mttis for key in ("value", "low", "high") if mtti[key]]
    if len(windows) < 2 or not known or _is_silent(report):
        return constant("")
    floor = HEIGHT - BOTTOM
    y = clock(known, floor, TOP)
    start, end = _seconds(windows[0]["from"]), _seconds(windows[-1]["to"])
    x = Scale(start, end, LEFT, RIGHT, ())
    mean = report["reference_mtti"]["value"]
    return framed(
        f"Time between interruptions of {reference_job(report)}, over time",
        f"{count(len(windows), 'window')}; the band is the 95 % interval of each.",
        ticks_beside(y, mark, "Time between interruptions"),
        _dates(windows, x, floor),
        _bands(windows, mttis, x, y),
        level_line(y.at(mean)) if mean else None,
    )


def _is_silent(report: Wire) -> bool:
    """Whether neither a run nor a stop is known: then there is no time between stops either."""
    return not report["exposure"]["runs"] and not report["stops"]["unexpected"]


def _bands(windows: Sequence[Wire], mttis: Sequence[Estimate], x: Scale, y: Scale) -> Html:
    """A band for each window; a dot is a figure, a hollow one a bound: no stop was seen."""
    drawn: list[Html] = []
    through = []
    for window, mtti in zip(windows, mttis, strict=True):
        left, right = x.at(_seconds(window["from"])), x.at(_seconds(window["to"]))
        low, high = mtti["low"] or y.low, mtti["high"] or y.high
        if mtti["low"] is not None:
            edges = [(left + 1, y.at(high)), (right - 1, y.at(high))]
            drawn.append(area([(left + 1, y.at(low)), (right - 1, y.at(low))], edges, "window"))
        middle = (left + right) / 2
        if mtti["value"]:
            through.append((middle, y.at(mtti["value"])))
            drawn.append(dot(middle, y.at(mtti["value"])))
        elif mtti["low"]:
            drawn.append(dot(middle, y.at(mtti["low"]), "dot none"))
    return join((line(through, "through"), *drawn))


def _dates(windows: Sequence[Wire], x: Scale, floor: float) -> Html:
    """The days on which windows begin, as many as there is room for."""
    skip = -(-len(windows) // _MAX_DATES)
    drawn: list[Html] = []
    for place, window in enumerate(windows[::skip]):
        at = x.at(_seconds(window["from"]))
        drawn.append(el("path", {"class": "tick", "d": f"M{at:g} {floor}v5"}))
        drawn.append(text(at, floor + 18, day_of(window["from"], with_year=not place), "soft"))
    return join(drawn)


def as_table(report: Wire) -> Html:
    """The windows as rows, the newest first."""
    rows = (
        (
            f"{day_of(row['from'])} to {day_of(row['to'], with_year=False)}",
            f"{row['events']:,}",
            f"{row['gpu_hours']:,.0f}" if row["gpu_hours"] else f"{row['job_hours']:,.0f} job-h",
            duration(job_mtti(report, row)),
        )
        for row in reversed(report["over_time"])
    )
    head = ("Window", "#Interruptions", "#GPU-hours", f"#Between two, of {reference_job(report)}")
    return table("Interruptions over time", head, rows)


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
