"""The air that a rack takes in gets warmer, and that of other racks does not.

What a whole rack shows at once is in the cooling of the room, and in none of its GPUs.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from triage.analysis.telemetry.panels import (
    SECOND,
    Panel,
    Panels,
    Signal,
    format_clock_time,
)
from triage.domain.arrays import F32
from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.parsers.telemetry.metrics import Metric

# Rooms breathe by two or three degrees over a day, all racks alike.
_MIN_RISE_C: Final = 4.0
# Air at this temperature cools, however much it was before.
_WARM_C: Final = 27.0
_MIN_NODES: Final = 2
_MIN_RACKS: Final = 2
# Most nodes of a rack: one sensor, or one blocked front, is no rack.
_MIN_SHARE: Final = 0.6
_NOW_S: Final = 600
_MIN_TOLD_S: Final = 1800


def find_inlet_rise(panels: Panels, leaf_switch: Mapping[str, str]) -> Iterator[Signal]:
    """Racks whose inlet temperature rises against that of the other racks.

    Reads:  inlet_temp_c, one series a node; the rack of each node, from labels or from
            ``leaf_switch`` of job.json (one leaf serves neighbours).
    Yields: ``telemetry.inlet_rise``, on no node, with the nodes of the rack.
    Silent: with fewer than two racks, on racks of one node, on less than half an hour, when all
            racks rise alike (the day), below 27 C.
    """
    panel = panels.get(Metric.INLET_TEMP_C)
    if panel is None:
        return
    racks = _group_by_rack(panel, {**leaf_switch, **panels.racks})
    recent = max(1, _NOW_S * SECOND // panel.width_ns)
    rises = {rack: _measure_rise(panel.value[rows], recent, panel) for rack, rows in racks.items()}
    for rack, rows in sorted(racks.items()):
        others = [rise for one, rise in rises.items() if one != rack and not np.isnan(rise)]
        if not others or np.isnan(rises[rack]) or len(rows) < _MIN_NODES:
            continue
        value = panel.value[rows]
        each = np.array([_measure_rise(value[k : k + 1], recent, panel) for k in range(len(rows))])
        usual = float(np.median(others))
        now = float(np.nanmedian(value[:, -recent:]))
        if rises[rack] - usual < _MIN_RISE_C or now < _WARM_C:
            continue
        if np.mean(each - usual >= _MIN_RISE_C / 2) >= _MIN_SHARE:
            yield _make_signal(panels, panel, rack, rows, rises[rack], now)


def _make_signal(
    panels: Panels, panel: Panel, rack: str, rows: list[int], rise: float, now: float
) -> Signal:
    """The claim in words."""
    warm = np.flatnonzero(_compute_node_median(panel.value[rows]) < now - rise / 2)
    since = panel.at_ns(int(warm[-1]) + 1 if len(warm) else 0)
    parts = [panel.parts[row] for row in rows]
    return Signal(
        name="telemetry.inlet_rise",
        kind=Kind.THERMAL,
        category=Category.GPU_THERMAL,
        also=(Category.CHASSIS,),
        seat=None,
        since_ns=since,
        until_ns=panels.end_ns,
        error_ns=panel.width_ns,
        text=(
            f"the air that rack {rack} takes in has warmed by {rise:.0f} C to {now:.0f} C since"
            f" {format_clock_time(since)} UTC, on {len(rows)} nodes and no other rack: its cooling"
        ),
        artifact=panels.artifact(Metric.INLET_TEMP_C, parts[0]),
        firm=True,
        nodes=tuple(sorted({part.node for part in parts})),
    )


def _group_by_rack(panel: Panel, racks: Mapping[str, str]) -> dict[str, list[int]]:
    """Rack -> rows of its nodes; nothing where there are fewer than two racks."""
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, part in enumerate(panel.parts):
        if part.node in racks and not np.isnan(panel.value[row]).all():
            rows_of[racks[part.node]].append(row)
    return dict(rows_of) if len(rows_of) >= _MIN_RACKS else {}


def _compute_node_median(value: F32) -> F32:
    """The median over nodes of each stretch; NaN where nobody said anything."""
    middle = np.full(value.shape[1], np.nan, np.float32)
    told = np.asarray((~np.isnan(value)).any(axis=0))
    middle[told] = np.nanmedian(value[:, told], axis=0)
    return middle


def _measure_rise(value: F32, recent: int, panel: Panel) -> float:
    """How much warmer it is now than at the coolest time before, C; NaN on too little data."""
    middle = _compute_node_median(value)
    told = ~np.isnan(middle)
    if told.sum() * panel.width_ns < _MIN_TOLD_S * SECOND or not told[-recent:].any():
        return float("nan")
    before = middle[:-recent][told[:-recent]]
    return float(np.nanmedian(middle[-recent:]) - np.quantile(before, 0.1))
