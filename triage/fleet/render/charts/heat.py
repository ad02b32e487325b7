"""Heat over a fleet: the daily swing of step time, warm racks, and nodes that were throttled.

Heat acts on clocks, and clocks on step time: in the Llama 3 run throughput swung by 1 to 2 %
over the day. What goes with the hour is cooling; what one node or rack has alone is that one.
"""

from collections.abc import Callable
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.chart import (
    BOTTOM,
    HOURS,
    TOP,
    dot,
    framed,
    hour_axis,
    hour_x,
    level_line,
    line,
    ticks_beside,
)
from triage.fleet.render.charts.scale import linear
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import Wire, clock, figure, share, with_interval
from triage.render.pictures.markup import Html, constant

__all__ = ["as_svg", "as_table", "node_table", "rack_table", "sentences"]

_HEIGHT: Final = 220
_MAX_ROWS: Final = 20
# Warmer than the median rack by less is the place of a sensor.
_WARM_C: Final = 1.0


def sentences(telemetry: Wire) -> list[str]:
    """What the swing is, and whether inlet temperature goes with it."""
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
    keys = ("value", "low", "high")
    both = {key: None if amplitude[key] is None else 2 * amplitude[key] for key in keys}
    found = [
        f"Step time swings by {with_interval(both, share)} over the day, peak to peak; it is"
        f" longest around {clock(peak)} UTC."
    ]
    agreement = swing["agreement"]
    if agreement is not None and agreement["correlation"]["value"] is not None:
        value = with_interval(agreement["correlation"])
        found.append(f"Correlation with inlet temperature, hour by hour: {value}.")
    return found


def _step_by_hour(telemetry: Wire) -> list[float | None]:
    """Mean step time of each hour over the mean of all; empty without step time."""
    swing = telemetry.get("daily_swing")
    return [] if swing is None else swing["step_by_hour"]


def as_svg(telemetry: Wire) -> Html:
    """Mean step time of each hour beside the mean of all; nothing without a day's worth."""
    hours = _step_by_hour(telemetry)
    known = [(hour, 100 * (step - 1)) for hour, step in enumerate(hours) if step is not None]
    if len(hours) != HOURS or len(known) < HOURS // 2:
        return constant("")
    floor = _HEIGHT - BOTTOM
    y = linear([percent for _, percent in known], floor, TOP)
    points = [(hour_x(hour + 0.5), y.at(percent)) for hour, percent in known]
    name = "Step time beside its mean"
    return framed(
        "Step time by hour of the day",
        " ".join(sentences(telemetry)),
        ticks_beside(y, lambda percent: f"{percent:+g} %" if percent else "0 %", name),
        level_line(y.at(0.0)),
        line(points, "curve"),
        *(dot(x, up, radius=3) for x, up in points),
        hour_axis(floor, "UTC"),
        height=_HEIGHT,
    )


def as_table(telemetry: Wire) -> Html:
    """The hours as rows."""
    rows = (
        (f"{hour:02d}:00", "" if step is None else f"{100 * (step - 1):+.2f} %")
        for hour, step in enumerate(_step_by_hour(telemetry))
    )
    return table("Step time by hour, UTC", ("Hour", "#Beside the mean"), rows)


def rack_table(telemetry: Wire) -> Html:
    """Racks whose inlet is warmer than that of others, or grows warmer; nothing without one."""
    racks = [rack for rack in telemetry.get("racks", ()) if rack["ahead_c"] is not None]
    racks.sort(key=lambda rack: (-rack["ahead_c"], rack["rack"]))
    warm = [
        rack for rack in racks if rack["ahead_c"] >= _WARM_C or (rack["trend_c_per_week"] or 0) > 1
    ]
    if not warm:
        return constant("")
    rows = (
        (
            rack["rack"],
            f"{rack['num_nodes']:,}",
            f"{rack['inlet_c'][-1]:.1f}",
            f"{rack['ahead_c']:+.1f}",
            "" if rack["trend_c_per_week"] is None else f"{rack['trend_c_per_week']:+.1f}",
        )
        for rack in warm[:_MAX_ROWS]
    )
    head = ("Rack", "#Nodes", "#Inlet, C", "#Beside the median rack", "#Grows a week")
    return table("Warm racks", head, rows, left_out=len(warm) - _MAX_ROWS)


def node_table(telemetry: Wire, named: Callable[[str], Html] | None = None) -> Html:
    """Nodes that were throttled or braked, or whose counters grew; nothing without one."""
    shown = [node for node in telemetry.get("nodes", ()) if any(map(node.get, _COLUMNS))]
    if not shown:
        return constant("")
    rows = (
        (
            named(node["node"]) if named else node["node"],
            *(figure(node[key]) if node.get(key) else "" for key in _COLUMNS),
            "" if node.get("gpu_temp_max_c") is None else f"{node['gpu_temp_max_c']:.0f}",
        )
        for node in shown[:_MAX_ROWS]
    )
    head = ("Node", *(f"#{word}" for word in _COLUMNS.values()), "#Hottest GPU, C")
    caption = f"Nodes by heat and errors, of {count(telemetry['num_nodes'], 'node')} measured"
    return table(caption, head, rows, left_out=len(shown) - _MAX_ROWS)


_COLUMNS: Final = {
    "throttled_hours": "Throttled, GPU-h",
    "power_brake_hours": "Power brake, GPU-h",
    "ecc_growth": "ECC errors",
    "remap_growth": "Rows remapped",
    "nvlink_growth": "NVLink errors",
    "ib_growth": "InfiniBand errors",
}
