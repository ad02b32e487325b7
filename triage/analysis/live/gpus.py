"""What the GPUs of a job do: whether one spins in a collective, idles or works at one moment, by
its load, memory traffic and power; and looks at them out of telemetry.

A rank that waits in a kernel of NCCL shows 100 % utilisation, no memory traffic, full clock and a
third of its power (230 W of 700 W). Utilisation alone tells nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

import numpy as np

from triage.analysis.placement.topology import Placement
from triage.analysis.telemetry.panels import Panel, Panels, build_panels, cut_window, identify_part
from triage.domain.arrays import F32, Flags
from triage.domain.live.look import GpuSample, Look, Tool
from triage.domain.progress import IdleGpus
from triage.parsers.telemetry.grid import coarsen_grid
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import TelemetryFile

_IDLE_PERCENT: Final = 5.0
_BUSY_PERCENT: Final = 90.0
# Kernels that compute read and write memory in a tenth of the time and more.
_QUIET_MEMORY: Final = 5.0
_BUSY_MEMORY: Final = 10.0
# Of the limit, or of what it drew at work: below it spins, above the other it works.
_LOW_POWER: Final = 0.5
_WORK_POWER: Final = 0.6
# No GPU draws so much while it spins; asked where no limit is known.
_MOST_SPIN_W: Final = 450.0


class GpuActivity(StrEnum):
    """What a GPU does at one moment."""

    SPINS = "spins"
    IDLE = "idle"
    WORKS = "works"
    UNCLEAR = "unclear"


def classify_activity(sample: GpuSample) -> GpuActivity:
    """What one sample shows; unclear where load and power do not go together."""
    load, memory = sample.utilisation_percent, sample.memory_percent
    share = _compute_power_share(sample)
    if load is None:
        return GpuActivity.UNCLEAR
    at_work = (memory or 0.0) >= _BUSY_MEMORY or (share or 0.0) >= _WORK_POWER
    if load <= _IDLE_PERCENT:
        return GpuActivity.UNCLEAR if at_work else GpuActivity.IDLE
    if at_work:
        return GpuActivity.WORKS
    if load < _BUSY_PERCENT or (memory is not None and memory > _QUIET_MEMORY):
        return GpuActivity.UNCLEAR
    if share is not None:
        return GpuActivity.SPINS if share <= _LOW_POWER else GpuActivity.UNCLEAR
    spins = memory is not None and (sample.power_w or 0.0) <= _MOST_SPIN_W
    return GpuActivity.SPINS if spins else GpuActivity.UNCLEAR


def _compute_power_share(sample: GpuSample) -> float | None:
    """The power as a share of the limit, else of what it drew at work; None where neither is
    known.
    """
    most = sample.power_limit_w or sample.most_power_w
    return None if sample.power_w is None or not most else sample.power_w / most


# Looks out of telemetry: the last two moments at which the GPUs spun. What comes later, GPUs that
# idle when the job has ended, is no look at it: it says that the job does not run.

# Fewer GPUs that are busy at one time tell of no job that waits.
_LEAST_BUSY: Final = 3
# Of so many GPUs there is a sample of their own in the later look; others keep the one before.
_MEASURED: Final = 0.95
# So many stretches before tell what a GPU draws at work.
_LEAST_HISTORY: Final = 10

# What stands in place of a node that nothing names.
_NO_NODE: Final = "\0"
# What is shown of a sample, by its fields.
_SHOWN: Final = {
    Metric.UTILISATION_PERCENT: "utilisation_percent",
    Metric.MEMORY_BUSY_PERCENT: "memory_percent",
    Metric.POWER_W: "power_w",
    Metric.POWER_LIMIT_W: "power_limit_w",
}


def make_looks_of_telemetry(
    files: Sequence[TelemetryFile], placement: Placement, nodes: Collection[str]
) -> list[Look]:
    """Two looks at all GPUs; none where fewer than 3 GPUs were ever busy together, or were so in
    one sample. ``nodes`` are those of the job.
    """
    found = _find_loads(files, placement, nodes)
    return [] if found is None else _make_last_busy_looks(*found)


def idle_gpus(
    files: Sequence[TelemetryFile], placement: Placement, nodes: Collection[str]
) -> IdleGpus | None:
    """For how long all GPUs idled at the end of the telemetry; None where one of them did not, or
    too few were measured. ``nodes`` are those of the job.
    """
    found = _find_loads(files, placement, nodes)
    if found is None:
        return None
    _, load, known = found
    rows = [row for row, part in enumerate(load.parts) if part.gpu and not part.part]
    measured = np.flatnonzero(known[rows].mean(0) >= _MEASURED) if rows else np.zeros(0, np.int64)
    busy = np.flatnonzero((load.value[rows] > _IDLE_PERCENT).any(0))
    last = int(busy[-1]) if len(busy) else -1
    idle = measured[measured > last]
    if not len(idle):
        return None
    return IdleGpus(
        busy_until_ns=load.at_ns(last + 1) if len(busy) else None,
        since_ns=load.at_ns(int(idle[0])),
        until_ns=load.at_ns(int(idle[-1])),
        gpus=len(rows),
    )


def _find_loads(
    files: Sequence[TelemetryFile], placement: Placement, nodes: Collection[str]
) -> tuple[Panels, Panel, Flags] | None:
    """What is known of all GPUs, their load, and where it was measured; None without a load."""
    told = [one for file in files if (one := _select_gpu_series(file)) is not None]
    if not told:
        return None
    end_ns = max(file.grid.end_ns for file in told if file.grid is not None)
    named = any(key.node for file in told if file.grid is not None for key in file.grid.series)
    nodes = nodes if named else ()
    panels = build_panels(told, end_ns, placement, nodes)
    load = panels.get(Metric.UTILISATION_PERCENT)
    return None if load is None else (panels, load, _flag_measured(told, load, placement, nodes))


def _flag_measured(
    files: Sequence[TelemetryFile], load: Panel, placement: Placement, nodes: Collection[str]
) -> Flags:
    """Where the load of each part was measured, and not only kept; shape of ``load.value``."""
    row_of = {part: row for row, part in enumerate(load.parts)}
    found: Flags = np.zeros(load.value.shape, np.bool_)
    for file in files:
        if file.grid is None:
            continue
        cells, _ = cut_window(coarsen_grid(file.grid, load.width_ns), load.start_ns, found.shape[1])
        for index, key in enumerate(file.grid.series):
            part = identify_part(key, placement, nodes)
            row = None if part is None else row_of.get(part)
            if key.metric is Metric.UTILISATION_PERCENT and row is not None:
                found[row] |= ~np.isnan(cells[index])
    return found


def _select_gpu_series(file: TelemetryFile) -> TelemetryFile | None:
    """The series of a file that say what GPUs do; one without a node stands for its file's."""
    grid = file.grid
    if grid is None or not any(key.metric is Metric.UTILISATION_PERCENT for key in grid.series):
        return None
    rows = [k for k, key in enumerate(grid.series) if key.metric in _SHOWN and key.gpu]
    series = tuple(
        replace(grid.series[k], node=grid.series[k].node or f"{_NO_NODE}{file.artifact}")
        for k in rows
    )
    return replace(file, grid=replace(grid, series=series, value=grid.value[rows]))


def _make_last_busy_looks(panels: Panels, load: Panel, known: Flags) -> list[Look]:
    """The last two moments at which GPUs were busy, each measured by itself; ``known`` says where
    ``load`` was.
    """
    rows = [row for row, part in enumerate(load.parts) if part.gpu and not part.part]
    parts = [load.parts[row] for row in rows]
    shown = {
        metric: panel.rows(parts) for metric in _SHOWN if (panel := panels.get(metric)) is not None
    }
    busy = np.flatnonzero((load.value[rows] >= _BUSY_PERCENT).sum(0) >= _LEAST_BUSY)
    if not len(busy):
        return []
    last = int(busy[-1])
    earlier = (
        int(column)
        for column in busy[-2::-1]
        if known[rows, column + 1 : last + 1].any(1).mean() >= _MEASURED
    )
    if (first := next(earlier, None)) is None:
        return []
    power = shown.get(Metric.POWER_W)
    most: F32 = np.full(len(parts), np.nan, np.float32)
    if power is not None and first:
        known = ~np.isnan(power[:, :first])
        most = np.where(
            known.sum(1) >= _LEAST_HISTORY, np.where(known, power[:, :first], 0.0).max(1), np.nan
        )
    looks = []
    for column in (first, last):
        by_file: dict[str, list[GpuSample]] = defaultdict(list)
        for row, part in enumerate(parts):
            sample = GpuSample(
                node=None if part.node.startswith(_NO_NODE) else part.node,
                index=int(part.gpu) if part.gpu.isdecimal() else None,
                bus_id=part.gpu if ":" in part.gpu else None,
                uuid=part.gpu if part.gpu.startswith("GPU-") else None,
                at_ns=load.at_ns(column),
                line=None,
                most_power_w=_get_finite(most[row]),
                **{_SHOWN[one]: _get_finite(value[row, column]) for one, value in shown.items()},
            )
            by_file[panels.artifact(part, Metric.UTILISATION_PERCENT)].append(sample)
        looks += [
            Look(artifact, Tool.GPU_STATE, gpus=tuple(by_file[artifact]))
            for artifact in sorted(by_file)
        ]
    return looks


def _get_finite(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
