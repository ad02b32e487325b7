"""From the GPUs that the record knows to those that are planned: the curve and its limits.

Both scales are logarithmic, so one over N is a straight line. The shaded range is measured;
beyond four times of it the ground is hatched, because the line there is a wish. Dots are what
was measured at each size, whatever the line says.
"""

import math
from collections.abc import Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.chart import (
    BOTTOM,
    HATCH,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Point,
    Scale,
    draw_area,
    draw_dot,
    draw_line,
    draw_rect,
    draw_ticks_below,
    draw_ticks_beside,
    draw_words,
    make_chart_svg,
    make_decade_scale,
    make_time_scale,
)
from triage.fleet.render.charts.table import Table, make_table
from triage.fleet.render.words import Wire, format_duration, format_hours, mark
from triage.render.pictures.markup import Html, join, make_element, trust_markup

FAR: Final = 4.0
"""Beyond this many times the range of sizes seen, a projection carries a warning."""
_HEIGHT: Final = HEIGHT + 60


def as_svg(report: Wire) -> Html:
    """The picture; nothing where the record knows no GPU-hours."""
    rows = [row for row in report["projection"] if row["mtti"]["value"]]
    if len(rows) < 2:
        return trust_markup("")
    floor = _HEIGHT - BOTTOM
    x = make_decade_scale([row["num_gpus"] for row in rows], LEFT, RIGHT)
    y = make_time_scale(
        [row["mtti"][key] or 0.0 for row in rows for key in ("low", "high")], floor, TOP
    )
    return make_chart_svg(
        "Time between interruptions by the size of a job",
        _describe_picture(report, rows),
        HATCH,
        _draw_ranges(report, x, floor),
        draw_ticks_below(x, _format_gpus, floor, name="GPUs of the job"),
        draw_ticks_beside(y, mark, "Time between interruptions"),
        draw_area(_compute_points(rows, "low", x, y), _compute_points(rows, "high", x, y), "band"),
        draw_line(_compute_fixed(rows, x, y), "theirs"),
        draw_line(_compute_points(rows, "value", x, y), "curve"),
        _draw_measured(report, x, y),
        _draw_reference(report, x, y, floor),
        height=_HEIGHT,
        name="projection",
    )


def _compute_points(rows: Sequence[Wire], key: str, x: Scale, y: Scale) -> list[Point]:
    return [(x.at(row["num_gpus"]), y.at(row["mtti"][key] or row["mtti"]["value"])) for row in rows]


def _compute_fixed(rows: Sequence[Wire], x: Scale, y: Scale) -> list[Point]:
    return [
        (x.at(row["num_gpus"]), y.at(row["software_fixed"]))
        for row in rows
        if row["software_fixed"]
    ]


def _draw_ranges(report: Wire, x: Scale, floor: float) -> Html:
    """The measured range shaded, what is far from it hatched."""
    seen, tall = report["exposure"]["seen_gpus"], floor - TOP
    if not seen:
        return draw_rect(LEFT, TOP, RIGHT - LEFT, tall, "beyond")
    left, right = x.at(seen[0]), x.at(seen[1])
    near, far = x.at(seen[0] / FAR), x.at(seen[1] * FAR)
    if right - left < 3:
        left, right = left - 1.5, right + 1.5
    return join(
        (
            draw_rect(LEFT, TOP, near - LEFT, tall, "beyond"),
            draw_rect(far, TOP, RIGHT - far, tall, "beyond"),
            draw_rect(left, TOP, right - left, tall, "measured"),
            draw_words((left + right) / 2, floor - 8, "measured", "halo", "middle"),
            draw_words((far + RIGHT) / 2, floor - 8, "far beyond", "halo", "middle")
            if RIGHT - far > 70
            else None,
        )
    )


def _draw_measured(report: Wire, x: Scale, y: Scale) -> Html:
    """The MTTI that jobs of each size had, with its interval."""
    drawn = []
    for row in report["by_size"]:
        mtti = row["mtti"]
        if not mtti["value"] or not row["job_hours"]:
            continue
        at = x.at(row["gpu_hours"] / row["job_hours"])
        low, high = y.at(mtti["low"] or y.low), y.at(mtti["high"] or y.high)
        drawn.append(make_element("path", {"class": "whisker", "d": f"M{at:g} {low:g}V{high:g}"}))
        drawn.append(draw_dot(at, y.at(mtti["value"])))
    return join(drawn)


def _draw_reference(report: Wire, x: Scale, y: Scale, floor: float) -> Html:
    """The job that is asked for: where it stands on the line."""
    size, mtti = report["exposure"]["reference_gpus"], report["reference_mtti"]["value"]
    if not size or not mtti or not x.low <= size <= x.high:
        return trust_markup("")
    across, up = x.at(size), y.at(mtti)
    anchor = "end" if across > WIDTH * 0.7 else "start"
    words = f"{size:,} GPUs: {format_hours(mtti)}"
    return join(
        (
            make_element("path", {"class": "edge", "d": f"M{across:g} {up:g}V{floor:g}"}),
            make_element("path", {"class": "edge", "d": f"M{LEFT} {up:g}H{across:g}"}),
            make_element(
                "path", {"class": "asked", "d": f"M{across:g} {up - 7:g}l7 7l-7 7l-7 -7z"}
            ),
            draw_words(
                across + (-12 if anchor == "end" else 12), up - 10, words, "strong halo", anchor
            ),
        )
    )


def list_shared_warnings(report: Wire) -> list[str]:
    """The warnings that hold for every size; picture and table show the range."""
    every = [row["warnings"] for row in report["projection"]]
    return [text for text in every[0] if all(text in of_size for of_size in every)] if every else []


def build_table(report: Wire) -> Table | None:
    """Sizes as rows, with what speaks against each figure."""
    shared = set(list_shared_warnings(report))
    with_fixed = any(row["software_fixed"] for row in report["projection"])
    rows = [
        (
            f"{row['num_gpus']:,}",
            format_duration(row["mtti"]),
            *((format_hours(row["software_fixed"]),) if with_fixed else ()),
            "; ".join(word for word in row["warnings"] if word not in shared),
        )
        for row in report["projection"]
    ]
    fixed = ("#If software does not grow",) if with_fixed else ()
    head = ("GPUs", "#Between two interruptions", *fixed, "Beware")
    return make_table("Projection by size of job", head, rows)


def _describe_picture(report: Wire, rows: Sequence[Wire]) -> str:
    first, last = rows[0], rows[-1]
    seen = report["exposure"]["seen_gpus"]
    range_of = f"Measured between {seen[0]:,} and {seen[1]:,} GPUs. " if seen else ""
    return (
        f"{range_of}From {format_hours(first['mtti']['value'])} at"
        f" {count(first['num_gpus'], 'GPU')} to"
        f" {format_hours(last['mtti']['value'])} at {count(last['num_gpus'], 'GPU')}."
    )


def _format_gpus(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}" if math.isfinite(value) else ""
