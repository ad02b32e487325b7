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
    draw_area,
    draw_dot,
    draw_level_line,
    draw_line,
    draw_ticks_beside,
    draw_words,
    make_chart_svg,
    make_time_scale,
)
from triage.fleet.render.charts.table import Table, make_table
from triage.fleet.render.words import Estimate, Wire, format_duration, format_utc_day, mark
from triage.render.pictures.markup import Html, join, make_element, trust_markup

_MAX_DATES: Final = 8


def get_job_mtti(report: Wire, window: Wire) -> Estimate:
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


def describe_reference_job(report: Wire) -> str:
    """``a job of 16,384 GPUs``; ``a job`` where no size is known."""
    reference = report["exposure"]["reference_gpus"]
    return f"a job of {reference:,} GPUs" if reference else "a job"


def as_svg(report: Wire) -> Html:
    """The picture; nothing for fewer than two windows, or without one interruption."""
    windows = report["over_time"]
    mttis = [get_job_mtti(report, window) for window in windows]
    known = [mtti[key] for mtti in mttis for key in ("value", "low", "high") if mtti[key]]
    if len(windows) < 2 or not known or _is_silent(report):
        return trust_markup("")
    floor = HEIGHT - BOTTOM
    y = make_time_scale(known, floor, TOP)
    start, end = _parse_seconds(windows[0]["from"]), _parse_seconds(windows[-1]["to"])
    x = Scale(start, end, LEFT, RIGHT, ())
    mean = report["reference_mtti"]["value"]
    return make_chart_svg(
        f"Time between interruptions of {describe_reference_job(report)}, over time",
        f"{count(len(windows), 'window')}; the band is the 95 % interval of each.",
        draw_ticks_beside(y, mark, "Time between interruptions"),
        _draw_dates(windows, x, floor),
        _draw_bands(windows, mttis, x, y),
        draw_level_line(y.at(mean)) if mean else None,
    )


def _is_silent(report: Wire) -> bool:
    """Whether neither a run nor a stop is known: then there is no time between stops either."""
    return not report["exposure"]["runs"] and not report["stops"]["unexpected"]


def _draw_bands(windows: Sequence[Wire], mttis: Sequence[Estimate], x: Scale, y: Scale) -> Html:
    """A band for each window; a dot is a figure, a hollow one a bound: no stop was seen."""
    drawn: list[Html] = []
    through = []
    for window, mtti in zip(windows, mttis, strict=True):
        left, right = x.at(_parse_seconds(window["from"])), x.at(_parse_seconds(window["to"]))
        low, high = mtti["low"] or y.low, mtti["high"] or y.high
        if mtti["low"] is not None:
            edges = [(left + 1, y.at(high)), (right - 1, y.at(high))]
            drawn.append(
                draw_area([(left + 1, y.at(low)), (right - 1, y.at(low))], edges, "window")
            )
        middle = (left + right) / 2
        if mtti["value"]:
            through.append((middle, y.at(mtti["value"])))
            drawn.append(draw_dot(middle, y.at(mtti["value"])))
        elif mtti["low"]:
            drawn.append(draw_dot(middle, y.at(mtti["low"]), "dot none"))
    return join((draw_line(through, "through"), *drawn))


def _draw_dates(windows: Sequence[Wire], x: Scale, floor: float) -> Html:
    """The days on which windows begin, as many as there is room for."""
    skip = -(-len(windows) // _MAX_DATES)
    drawn: list[Html] = []
    for place, window in enumerate(windows[::skip]):
        at = x.at(_parse_seconds(window["from"]))
        drawn.append(make_element("path", {"class": "tick", "d": f"M{at:g} {floor}v5"}))
        drawn.append(
            draw_words(at, floor + 18, format_utc_day(window["from"], with_year=not place), "soft")
        )
    return join(drawn)


def build_table(report: Wire) -> Table | None:
    """The windows as rows, the newest first."""
    rows = (
        (
            f"{format_utc_day(row['from'])} to {format_utc_day(row['to'], with_year=False)}",
            f"{row['events']:,}",
            f"{row['gpu_hours']:,.0f}" if row["gpu_hours"] else f"{row['job_hours']:,.0f} job-h",
            format_duration(get_job_mtti(report, row)),
        )
        for row in reversed(report["over_time"])
    )
    head = (
        "Window",
        "#Interruptions",
        "#GPU-hours",
        f"#Between two, of {describe_reference_job(report)}",
    )
    return make_table("Interruptions over time", head, rows)


def _parse_seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
