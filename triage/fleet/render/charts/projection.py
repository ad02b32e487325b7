"""From the GPUs that the record knows to those that are planned: the curve and its limits.

Both scales are logarithmic, so one over N is a straight line. The shaded range is measured;
beyond four times of it the ground is hatched, because the line there is a wish. Dots are what
was measured at each size, whatever the line says.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.fleet.render.charts.chart import (
    BOTTOM,
    HATCH,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    area,
    framed,
    line,
    rect,
    text,
    ticks_below,
    ticks_beside,
)  # fmt: skip
from triage.fleet.render.charts.scale import Scale, clock, decades
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import count, duration, hours, mark
from triage.render.pictures.markup import Html, constant, el, join

__all__ = ["FAR", "as_svg", "as_table", "warnings"]

Report = Mapping[str, Any]

FAR: Final = 4.0
"""Beyond this many times the range of sizes seen, a projection carries a warning."""
_HEAD: Final = 16
_HEIGHT: Final = HEIGHT + 60


def as_svg(report: Report) -> Html:
    """The picture; nothing where the record knows no GPU-hours."""
    rows = [one for one in report["projection"] if one["mtti"]["value"]]
    if len(rows) < 2:
        return constant("")
    floor, top = _HEIGHT - BOTTOM, TOP + _HEAD
    x = decades([one["num_gpus"] for one in rows], LEFT, WIDTH - RIGHT)
    y = clock([one["mtti"][key] or 0.0 for one in rows for key in ("low", "high")], floor, top)
    return framed(
        "Time between interruptions by the size of a job",
        _desc(report, rows),
        HATCH,
        _ranges(report, x, top, floor),
        ticks_below(x, _gpus, floor, top, "GPUs of the job"),
        ticks_beside(y, mark, LEFT, WIDTH - RIGHT, "Time between interruptions"),
        area(_points(rows, "low", x, y), _points(rows, "high", x, y), "band"),
        line(_fixed(rows, x, y), "theirs"),
        line(_points(rows, "value", x, y), "curve"),
        _measured(report, x, y),
        _reference(report, x, y, floor),
        height=_HEIGHT,
        name="projection",
    )


def _points(
    rows: Sequence[Mapping[str, Any]], key: str, x: Scale, y: Scale
) -> list[tuple[float, float]]:
    return [(x.at(one["num_gpus"]), y.at(one["mtti"][key] or one["mtti"]["value"])) for one in rows]


def _fixed(rows: Sequence[Mapping[str, Any]], x: Scale, y: Scale) -> list[tuple[float, float]]:
    return [
        (x.at(one["num_gpus"]), y.at(one["software_fixed"]))
        for one in rows
        if one["software_fixed"]
    ]


def _ranges(report: Report, x: Scale, top: float, floor: float) -> Html:
    """The measured range shaded, what is far from it hatched."""
    seen = report["exposure"]["seen_gpus"]
    if not seen:
        return rect(LEFT, top, WIDTH - RIGHT - LEFT, floor - top, "beyond")
    left, right = x.at(seen[0]), x.at(seen[1])
    near, far = x.at(seen[0] / FAR), x.at(seen[1] * FAR)
    if right - left < 3:
        left, right = left - 1.5, right + 1.5
    return join(
        (
            rect(LEFT, top, near - LEFT, floor - top, "beyond"),
            rect(far, top, WIDTH - RIGHT - far, floor - top, "beyond"),
            rect(left, top, right - left, floor - top, "measured"),
            text((left + right) / 2, floor - 8, "measured", "halo", "middle"),
            text((far + WIDTH - RIGHT) / 2, floor - 8, "far beyond", "halo", "middle")
            if WIDTH - RIGHT - far > 70
            else None,
        )
    )


def _measured(report: Report, x: Scale, y: Scale) -> Html:
    """What each size of job showed, with its interval."""
    drawn = []
    for one in report["by_size"]:
        mtti = one["mtti"]
        if not mtti["value"] or not one["job_hours"]:
            continue
        at = x.at(one["gpu_hours"] / one["job_hours"])
        low, high = y.at(mtti["low"] or y.low), y.at(mtti["high"] or y.high)
        drawn.append(el("path", {"class": "whisker", "d": f"M{at:g} {low:g}V{high:g}"}))
        drawn.append(el("circle", {"class": "dot", "cx": at, "cy": y.at(mtti["value"]), "r": 4}))
    return join(drawn)


def _reference(report: Report, x: Scale, y: Scale, floor: float) -> Html:
    """The job that is asked for: where it stands on the line."""
    size, mtti = report["exposure"]["reference_gpus"], report["reference_mtti"]["value"]
    if not size or not mtti or not x.low <= size <= x.high:
        return constant("")
    across, up = x.at(size), y.at(mtti)
    anchor = "end" if across > WIDTH * 0.7 else "start"
    words = f"{size:,} GPUs: {hours(mtti)}"
    return join(
        (
            el("path", {"class": "edge", "d": f"M{across:g} {up:g}V{floor:g}"}),
            el("path", {"class": "edge", "d": f"M{LEFT} {up:g}H{across:g}"}),
            el("path", {"class": "asked", "d": f"M{across:g} {up - 7:g}l7 7l-7 7l-7 -7z"}),
            text(across + (-12 if anchor == "end" else 12), up - 10, words, "strong halo", anchor),
        )
    )


def warnings(report: Report) -> list[str]:
    """What holds for every size; the range is told by the picture and the table."""
    every = [set(one["warnings"]) for one in report["projection"]]
    if not every:
        return []
    shared = set.intersection(*every)
    return [one for one in report["projection"][0]["warnings"] if one in shared]


def as_table(report: Report) -> Html:
    """Sizes as rows, with what speaks against each figure."""
    shared = set(warnings(report))
    with_fixed = any(one["software_fixed"] for one in report["projection"])
    rows = [
        (
            f"{one['num_gpus']:,}",
            duration(one["mtti"]),
            *((hours(one["software_fixed"]),) if with_fixed else ()),
            "; ".join(word for word in one["warnings"] if word not in shared),
        )
        for one in report["projection"]
    ]
    fixed = ("#If software does not grow",) if with_fixed else ()
    head = ("GPUs", "#Between two interruptions", *fixed, "Beware")
    return table("Projection by size of job", head, rows)


def _desc(report: Report, rows: Sequence[Mapping[str, Any]]) -> str:
    first, last = rows[0], rows[-1]
    seen = report["exposure"]["seen_gpus"]
    range_of = f"Measured between {seen[0]:,} and {seen[1]:,} GPUs. " if seen else ""
    return (
        f"{range_of}From {hours(first['mtti']['value'])} at {count(first['num_gpus'], 'GPU')} to"
        f" {hours(last['mtti']['value'])} at {count(last['num_gpus'], 'GPU')}."
    )


def _gpus(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}" if math.isfinite(value) else ""
