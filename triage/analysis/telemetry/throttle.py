"""A GPU that slows down while its peers do not: for heat, or because power is cut back.

Ranks of one job load their GPUs alike, so at any time their clocks are close together. A
power cap lowers clocks too, but of all GPUs and by right; it is never evidence.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.placement.topology import Placement
from triage.analysis.telemetry.panels import (
    SECOND,
    Panel,
    PanelPart,
    Panels,
    Seat,
    Signal,
    find_seat,
    format_clock_time,
)
from triage.domain.arrays import F32, I64, Flags
from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.parsers.telemetry.metrics import BRAKE, HW_SLOWDOWN, IDLE, THERMAL, Metric

# Fewer GPUs than this at one time are no peers to compare with.
MIN_GPUS: Final = 5
# A GPU that says that it slows down runs this far below its peers, else it slowed nobody down ...
SLOWED: Final = 0.95
# ... and without its word it has to be this slow, and this hot, and hotter than they.
SLOW: Final = 0.9
HOT_C: Final = 80.0
HOTTER_C: Final = 8.0
# Peers below this part of their usual clocks have nothing to do.
_BUSY: Final = 0.6
# Slowing down is told from a blip by two stretches, and by half of those since it began.
_MIN_STRETCHES: Final = 2
_MIN_SHARE: Final = 0.5
# It still goes on where it was seen so shortly before the last word; pauses as long end it.
_PAUSE_S: Final = 240
# Telemetry that ends earlier than this before the stop says nothing of it.
_LAST_WORD_S: Final = 900
# More of the job's GPUs at once than this have their reason outside of them.
MOST_SHARE: Final = 0.25
# Three GPUs of a node, and half of them, share what cools or feeds the node.
_NODE_GPUS: Final = 3
# The category of heat there, and what it may be too.
_GPU_HEAT: Final = (
    Category.GPU_THERMAL, Category.CHASSIS, Category.POWER, Category.STRAGGLER,
)  # fmt: skip
_NODE_HEAT: Final = (Category.CHASSIS, Category.GPU_THERMAL, Category.STRAGGLER)
_CUT_BACK: Final = (Category.POWER, Category.CHASSIS, Category.STRAGGLER)


@dataclass(frozen=True, slots=True)
class ThrottlingGpu:
    """One GPU that slows down at the end of the time looked at."""

    part: PanelPart
    seat: Seat
    brake: bool
    first: int
    last: int
    row: int


@dataclass(frozen=True, slots=True)
class ClockTable:
    """Clocks, reasons and temperatures of the same GPUs: shape (parts, stretches)."""

    parts: tuple[PanelPart, ...]
    clock: F32
    reasons: I64
    told: Flags
    temp: F32
    usual: F32
    """The median clock of all at a time, NaN where too few are known or all are idle."""
    usual_temp: F32
    start_ns: int
    width_ns: int

    @classmethod
    def of(cls, panels: Panels) -> "ClockTable | None":
        """None where too few GPUs say anything of their clocks."""
        metrics = (Metric.SM_CLOCK_MHZ, Metric.THROTTLE_REASONS, Metric.GPU_TEMP_C)
        told_by = [panel for one in metrics[:2] if (panel := panels.get(one)) is not None]
        parts = tuple(sorted({part for panel in told_by for part in panel.parts if part.gpu}))
        if len(parts) < MIN_GPUS:
            return None
        some = told_by[0]
        blank = np.full((len(parts), some.value.shape[1]), np.nan, np.float32)
        clock, reasons, temp = (
            blank if (panel := panels.get(one)) is None else panel.rows(parts) for one in metrics
        )
        usual, usual_temp = _mask_idle(_compute_gpu_median(clock)), _compute_gpu_median(temp)
        codes, told = np.nan_to_num(reasons).astype(np.int64), ~np.isnan(reasons)
        return cls(parts, clock, codes, told, temp, usual, usual_temp, some.start_ns, some.width_ns)

    def at_ns(self, column: int) -> int:
        """When a stretch begins."""
        return self.start_ns + column * self.width_ns


def find_throttling(
    panels: Panels, placement: Placement
) -> tuple[ClockTable, list[ThrottlingGpu]] | None:
    """All GPUs that slow down up to the end, however many; None where there are no peers."""
    table = ClockTable.of(panels)
    if table is None:
        return None
    found = [_find_slowed(table, row, placement) for row in range(len(table.parts))]
    return table, [one for one in found if one is not None]


def _compute_gpu_median(value: F32) -> F32:
    """The median over GPUs of each stretch; NaN where fewer than five are known."""
    found = np.full(value.shape[1], np.nan, np.float32)
    enough = (~np.isnan(value)).sum(axis=0) >= MIN_GPUS
    if enough.any():
        found[enough] = np.nanmedian(value[:, enough], axis=0)
    return found


def _mask_idle(usual: F32) -> F32:
    """``usual`` without the stretches in which all GPUs idle."""
    if np.isnan(usual).all():
        return usual
    return np.where(usual >= _BUSY * np.nanmax(usual), usual, np.float32(np.nan))


def _find_slowed(table: ClockTable, row: int, placement: Placement) -> ThrottlingGpu | None:
    """The GPU of ``row``, if it slows down up to the end."""
    with np.errstate(invalid="ignore"):
        ratio = table.clock[row] / table.usual
        reasons, told = table.reasons[row], table.told[row]
        awake = (reasons & IDLE) == 0
        # Without clocks, only what the hardware itself forces counts.
        hardware = (reasons & (HW_SLOWDOWN | BRAKE)) != 0
        below = np.where(np.isnan(ratio), hardware, ratio < SLOWED) & awake
        hot = (table.temp[row] >= HOT_C) & (table.temp[row] >= table.usual_temp + HOTTER_C)
        brake = told & ((reasons & BRAKE) != 0) & below
        heat = told & ((reasons & (THERMAL | HW_SLOWDOWN)) != 0) & below & ~brake
        heat |= ~told & (ratio < SLOW) & hot
    known = told | ~np.isnan(ratio)
    for active, is_brake in ((brake, True), (heat, False)):
        run = _last_run(active, known, table.width_ns)
        if run is not None:
            part = table.parts[row]
            return ThrottlingGpu(part, find_seat(placement, part), is_brake, *run, row)
    return None


def _last_run(active: Flags, known: Flags, width_ns: int) -> tuple[int, int] | None:
    """(first, last) stretch of what is still going on at the last word; None where nothing is."""
    pause = max(1, _PAUSE_S * SECOND // width_ns)
    told_at = np.flatnonzero(known)
    on = np.flatnonzero(active)
    if len(on) < _MIN_STRETCHES or len(active) - told_at[-1] > max(
        1, _LAST_WORD_S * SECOND // width_ns
    ):
        return None
    if told_at[-1] - on[-1] >= pause:
        return None
    breaks = np.flatnonzero(np.diff(on) > pause)
    run = on[breaks[-1] + 1 :] if len(breaks) else on
    first, last = int(run[0]), int(run[-1])
    if len(run) < _MIN_STRETCHES or len(run) < _MIN_SHARE * known[first : last + 1].sum():
        return None
    return first, last


def judge_throttling(
    panels: Panels, table: ClockTable, throttling_gpus: Sequence[ThrottlingGpu]
) -> Iterator[Signal]:
    """GPUs that throttle against their peers at the same time, up to the stop.

    Reads:  sm_clock_mhz, throttle_reasons, gpu_temp_c; ``throttling_gpus`` are those of ``table``
            that :func:`find_throttling` gave.
    Yields: ``telemetry.throttle`` (heat) and ``telemetry.power_brake``, of a GPU, or of a node
            half of whose GPUs do it.
    Silent: on fewer than five GPUs with clocks or reasons, when peers are idle, on power caps,
            when it ended 4 min earlier, and when over a quarter of the job's GPUs do the same.
    """
    nodes = {gpu.part.node for gpu in throttling_gpus}
    if len(throttling_gpus) > max(1, MOST_SHARE * len(table.parts)) and len(nodes) > 1:
        return
    by_node: dict[tuple[str, bool], list[ThrottlingGpu]] = defaultdict(list)
    for gpu in throttling_gpus:
        by_node[gpu.part.node, gpu.brake].append(gpu)
    for (node, _), together in sorted(by_node.items()):
        on_node = sum(part.node == node for part in table.parts)
        if len(together) >= max(_NODE_GPUS, on_node / 2):
            # Half of a node's GPUs: what they share is at fault.
            who = f"{len(together)} GPUs of the node throttle"
            yield _make_signal(table, panels, together, Seat(node), who, _NODE_HEAT)
            continue
        for gpu in together:
            rank = "" if gpu.seat.rank is None else f" (rank {gpu.seat.rank})"
            who = f"GPU {gpu.seat.gpu}{rank} throttles"
            yield _make_signal(table, panels, [gpu], gpu.seat, who, _GPU_HEAT)


def _make_signal(
    table: ClockTable,
    panels: Panels,
    gpus: Sequence[ThrottlingGpu],
    seat: Seat,
    who: str,
    heat: tuple[Category, ...],
) -> Signal:
    """The claim on ``seat``, since the first of ``gpus``; ``heat`` are the category of heat
    there, and what it may be too.
    """
    first = min(gpus, key=lambda gpu: (gpu.first, gpu.part))
    since = table.at_ns(first.first)
    why = "because power is cut back (power brake)" if first.brake else "for heat"
    category, *also = _CUT_BACK if first.brake else heat
    return Signal(
        name="telemetry.power_brake" if first.brake else "telemetry.throttle",
        kind=Kind.POWER if first.brake else Kind.THERMAL,
        category=category,
        also=tuple(also),
        seat=seat,
        since_ns=since,
        until_ns=table.at_ns(max(gpu.last for gpu in gpus) + 1),
        error_ns=table.width_ns,
        text=f"{who} {why} since {format_clock_time(since)} UTC{_describe_measures(table, first)}",
        artifact=panels.artifact(first.part, Metric.THROTTLE_REASONS, Metric.SM_CLOCK_MHZ),
    )


def _describe_measures(table: ClockTable, gpu: ThrottlingGpu) -> str:
    """``: 1035 MHz against 1755 MHz of its peers, 91 C against 63 C``; of the time since."""
    time = slice(gpu.first, gpu.last + 1)
    parts = []
    for value, usual, unit in (
        (table.clock[gpu.row, time], table.usual[time], "MHz"),
        (table.temp[gpu.row, time], table.usual_temp[time], "C"),
    ):
        both = ~np.isnan(value) & ~np.isnan(usual)
        if both.any():
            own, peers = np.median(value[both]), np.median(usual[both])
            parts.append(f"{own:.0f} {unit} against {peers:.0f} {unit} of its peers")
    return f": {', '.join(parts)}" if parts else ""


# The air that a rack takes in gets warmer, and that of other racks does not.
#
# What a whole rack shows at once is in the cooling of the room, and in none of its GPUs.

# Rooms breathe by two or three degrees over a day, all racks alike.
_MIN_RISE_C: Final = 4.0
# Air at this temperature cools, however much it was before.
_WARM_C: Final = 27.0
_MIN_NODES: Final = 2
_MIN_RACKS: Final = 2
# Most nodes of a rack: one sensor, or one blocked front, is no rack.
_MIN_NODES_SHARE: Final = 0.6
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
        if np.mean(each - usual >= _MIN_RISE_C / 2) >= _MIN_NODES_SHARE:
            yield _make_rack_signal(panels, panel, rack, rows, rises[rack], now)


def _make_rack_signal(
    panels: Panels, panel: Panel, rack: str, rows: list[int], rise: float, now: float
) -> Signal:
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
        artifact=panels.artifact(parts[0], Metric.INLET_TEMP_C),
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
