"""Heat over a fleet: the daily swing of step time, warm racks, and nodes that were throttled.

Heat acts on clocks, and clocks on step time: in the Llama 3 run throughput swung by 1 to 2 %
over the day. What goes with the hour is cooling; what one node or rack has alone is that one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from triage.fleet.render.charts.chart import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Point,
    framed,
    line,
    text,
    ticks_beside,
)
from triage.fleet.render.charts.scale import linear
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import clock, count, figure, share, told
from triage.render.pictures.markup import Html, constant, el, join

__all__ = ["as_svg", "as_table", "node_table", "rack_table", "said"]

Telemetry = Mapping[str, Any]

_HEIGHT: Final = 220
_HEAD: Final = 16
_HOURS: Final = 24
_MAX_ROWS: Final = 20
# Warmer than the median rack by less is the place of a sensor.
_WARM_C: Final = 1.0


def said(telemetry: Telemetry) -> list[str]:
    """What the swing is and whether inlet temperature goes with it, in sentences."""
    swing = telemetry.get("daily_swing")
    if swing is None:
        return []
    step = swing["step_time"]
    if step["found"] is None:
        return [f"Daily swing of step time {note}." for note in step["notes"][:1]]
    amplitude, peak = step["amplitude"], step["peak_hour"]["value"]
    if not step["found"]:
        most = "" if amplitude["high"] is None else f"; it is below {share(2 * amplitude['high'])}"
        return [f"No daily swing of step time is told from noise{most}, peak to peak."]
    both = {key: None if amplitude[key] is None else 2 * amplitude[key]
            for key in ("value", "low", "high")}  # fmt: skip
    found = [
        f"Step time swings by {told(both, share)} over the day, peak to peak; it is longest around"
        f" {clock(peak)} UTC."
    ]
    agreement = swing["agreement"]
    if agreement is not None and agreement["correlation"]["value"] is not None:
        value = told(agreement["correlation"])
        found.append(f"Correlation with inlet temperature, hour by hour: {value}.")
    return found


def as_svg(telemetry: Telemetry) -> Html:
    """Mean step time of each hour beside the mean of all; nothing without a day's worth."""
    swing = telemetry.get("daily_swing")
    hours = [] if swing is None else swing["step_by_hour"]
    known = [one for one in hours if one is not None]
    if len(hours) != _HOURS or len(known) < _HOURS // 2:
        return constant("")
    floor = _HEIGHT - BOTTOM
    y = linear([100 * (one - 1) for one in known], floor, TOP + _HEAD)
    wide = (WIDTH - RIGHT - LEFT) / _HOURS
    points: list[Point] = [
        (round(LEFT + (hour + 0.5) * wide, 1), y.at(100 * (one - 1)))
        for hour, one in enumerate(hours)
        if one is not None
    ]
    marks = [
        text(round(LEFT + hour * wide, 1), floor + 16, f"{hour:02d}:00", "soft", "middle")
        for hour in range(0, _HOURS + 1, 3)
    ]
    dots = (el("circle", {"class": "dot", "cx": x, "cy": up, "r": 3}) for x, up in points)
    name = "Step time beside its mean"
    return framed(
        "Step time by hour of the day",
        " ".join(said(telemetry)),
        ticks_beside(y, lambda one: f"{one:+g} %" if one else "0 %", LEFT, WIDTH - RIGHT, name),
        line([(LEFT, y.at(0.0)), (WIDTH - RIGHT, y.at(0.0))], "mean"),
        line(points, "curve"),
        join(dots),
        join(marks),
        text((LEFT + WIDTH - RIGHT) / 2, floor + 34, "Hour of the day, UTC", "name", "middle"),
        height=_HEIGHT,
    )


def as_table(telemetry: Telemetry) -> Html:
    """The hours as rows."""
    swing = telemetry.get("daily_swing")
    hours: Sequence[float | None] = [] if swing is None else swing["step_by_hour"]
    rows = (
        (f"{hour:02d}:00", "" if one is None else f"{100 * (one - 1):+.2f} %")
        for hour, one in enumerate(hours)
    )
    return table("Step time by hour, UTC", ("Hour", "#Beside the mean"), rows)


def rack_table(telemetry: Telemetry) -> Html:
    """Racks whose inlet is warmer than that of others, or grows warmer; nothing without one."""
    racks = [one for one in telemetry.get("racks", ()) if one["ahead_c"] is not None]
    racks.sort(key=lambda one: (-one["ahead_c"], one["rack"]))
    warm = [one for one in racks if one["ahead_c"] >= _WARM_C or (one["trend_c_per_week"] or 0) > 1]
    if not warm:
        return constant("")
    rows = (
        (
            one["rack"],
            f"{one['num_nodes']:,}",
            f"{one['inlet_c'][-1]:.1f}",
            f"{one['ahead_c']:+.1f}",
            "" if one["trend_c_per_week"] is None else f"{one['trend_c_per_week']:+.1f}",
        )
        for one in warm[:_MAX_ROWS]
    )
    head = ("Rack", "#Nodes", "#Inlet, C", "#Beside the median rack", "#Grows a week")
    return table("Warm racks", head, rows, left_out=len(warm) - _MAX_ROWS)


def node_table(telemetry: Telemetry, named: Callable[[str], Html] | None = None) -> Html:
    """Nodes that were throttled or braked, or whose counters grew; nothing without one."""
    shown = [one for one in telemetry.get("nodes", ()) if any(one.get(key) for key in _TOLD)]
    if not shown:
        return constant("")
    rows = (
        (
            named(one["node"]) if named else one["node"],
            *(figure(one.get(key) or 0.0) if one.get(key) else "" for key in _TOLD),
            "" if one.get("gpu_temp_max_c") is None else f"{one['gpu_temp_max_c']:.0f}",
        )
        for one in shown[:_MAX_ROWS]
    )
    head = ("Node", *(f"#{word}" for word in _TOLD.values()), "#Hottest GPU, C")
    caption = f"Nodes by heat and errors, of {count(telemetry['num_nodes'], 'node')} measured"
    return table(caption, head, rows, left_out=len(shown) - _MAX_ROWS)


_TOLD: Final = {
    "throttled_hours": "Throttled, GPU-h",
    "power_brake_hours": "Power brake, GPU-h",
    "ecc_growth": "ECC errors",
    "remap_growth": "Rows remapped",
    "nvlink_growth": "NVLink errors",
    "ib_growth": "InfiniBand errors",
}
