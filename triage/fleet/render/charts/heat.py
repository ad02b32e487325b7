"""Heat over a fleet, and hours of the day: step time, stops, warm racks, throttled nodes.

Heat acts on clocks, and clocks on step time: in the Llama 3 run throughput swung by 1 to 2 %
over the day. What goes with the hour is cooling; what one node or rack has alone is that one.
"""

from collections.abc import Callable
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.table import Table, make_table
from triage.fleet.render.words import (
    Wire,
    format_figure,
    format_hour_of_day,
    format_share,
    with_interval,
)
from triage.render.pictures.markup import Html

_MAX_ROWS: Final = 20
# Warmer than the median rack by less is the place of a sensor.
_WARM_C: Final = 1.0
# A p-value below this is called a clear hour.
_CLEAR: Final = 0.05


def describe_heat(telemetry: Wire) -> list[str]:
    """What the swing is, and whether inlet temperature goes with it."""
    swing = telemetry.get("daily_swing")
    if swing is None:
        return []
    step = swing["step_time"]
    if step["found"] is None:
        return [f"Daily swing of step time {note}." for note in step["notes"][:1]]
    amplitude, peak = step["amplitude"], step["peak_hour"]["value"]
    if not step["found"]:
        most = (
            ""
            if amplitude["high"] is None
            else f"; it is below {format_share(2 * amplitude['high'])}"
        )
        return [f"No daily swing of step time is told from noise{most}, peak to peak."]
    keys = ("value", "low", "high")
    both = {key: None if amplitude[key] is None else 2 * amplitude[key] for key in keys}
    found = [
        f"Step time swings by {with_interval(both, format_share)} over the day, peak to peak; it is"
        f" longest around {format_hour_of_day(peak)} UTC."
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


def build_table(telemetry: Wire) -> Table | None:
    """The hours as rows."""
    rows = (
        (f"{hour:02d}:00", "" if step is None else f"{100 * (step - 1):+.2f} %")
        for hour, step in enumerate(_step_by_hour(telemetry))
    )
    return make_table("Step time by hour, UTC", ("Hour", "#Beside the mean"), rows)


def build_rack_table(telemetry: Wire) -> Table | None:
    """Racks whose inlet is warmer than that of others, or grows warmer; nothing without one."""
    racks = [rack for rack in telemetry.get("racks", ()) if rack["ahead_c"] is not None]
    racks.sort(key=lambda rack: (-rack["ahead_c"], rack["rack"]))
    warm = [
        rack for rack in racks if rack["ahead_c"] >= _WARM_C or (rack["trend_c_per_week"] or 0) > 1
    ]
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
    return make_table("Warm racks", head, rows, left_out=len(warm) - _MAX_ROWS)


def build_node_table(telemetry: Wire, named: Callable[[str], Html | str] = str) -> Table | None:
    """Nodes that were throttled or braked, or whose counters grew; nothing without one."""
    shown = [node for node in telemetry.get("nodes", ()) if any(map(node.get, _COLUMNS))]
    rows = (
        (
            named(node["node"]),
            *(format_figure(node[key]) if node.get(key) else "" for key in _COLUMNS),
            "" if node.get("gpu_temp_max_c") is None else f"{node['gpu_temp_max_c']:.0f}",
        )
        for node in shown[:_MAX_ROWS]
    )
    head = ("Node", *(f"#{word}" for word in _COLUMNS.values()), "#Hottest GPU, C")
    caption = (
        f"Nodes by heat and errors, of {count(telemetry.get('num_nodes', 0), 'node')} measured"
    )
    return make_table(caption, head, rows, left_out=len(shown) - _MAX_ROWS)


def describe_stops_by_hour(report: Wire) -> str:
    """Whether an hour stands out."""
    hours = report["hours_of_day"]
    peak = hours["peak_hour"]
    if hours["p_value"] is None:
        return "Too few interruptions to tell one hour from another."
    if hours["p_value"] >= _CLEAR or peak["value"] is None:
        return f"No hour of the day stands out (Rayleigh test, p = {hours['p_value']:.2g})."
    span = (
        f" ({format_hour_of_day(peak['low'])} to {format_hour_of_day(peak['high'])})"
        if peak["low"] is not None
        else ""
    )
    return (
        f"Interruptions gather around {format_hour_of_day(peak['value'])}{span},"
        f" {_format_zone(report)}:"
        f" Rayleigh test, p = {hours['p_value']:.2g}."
    )


def build_stop_table(report: Wire) -> Table | None:
    """The hours as rows, where they were tested."""
    if report["hours_of_day"]["p_value"] is None:
        return None
    counts = report["hours_of_day"]["counts"]
    total = sum(counts)
    rows = (
        (f"{hour:02d}:00", f"{number:,}", format_share(number / total if total else None))
        for hour, number in enumerate(counts)
    )
    return make_table("Interruptions by hour", ("Hour", "#Interruptions", "#Share"), rows)


def _format_zone(report: Wire) -> str:
    offset = report["options"]["utc_offset_hours"]
    return f"UTC{offset:+g} h" if offset else "UTC"


_COLUMNS: Final = {
    "throttled_hours": "Throttled, GPU-h",
    "power_brake_hours": "Power brake, GPU-h",
    "ecc_growth": "ECC errors",
    "remap_growth": "Rows remapped",
    "nvlink_growth": "NVLink errors",
    "ib_growth": "InfiniBand errors",
}
