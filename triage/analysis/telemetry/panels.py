"""Panels: all telemetry of an incident before its stop, one table a metric, on one axis of time.

What comes after the stop is left out here and seen by nobody: GPUs that idle cool down and
lower their clocks, which is a consequence of any stop and evidence of none.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.analysis.placement.topology import Placement
from triage.domain.arrays import F32
from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.domain.job import normalize_bus_id
from triage.parsers.telemetry.grid import coarsen_grid
from triage.parsers.telemetry.metrics import COUNTERS, Metric
from triage.parsers.telemetry.samples import Grid, SeriesKey, TelemetryFile

SECOND: Final = 1_000_000_000
# How long before the stop is looked at.
LOOK_S: Final = 6 * 3600
# A gauge that is scraped more seldom than this has gaps.
_MOST_GAP_S: Final = 150
# Counters that say what broke, in the first scrape after it.
_SCRAPE_S: Final = 120


@dataclass(frozen=True, slots=True)
class Seat:
    """A GPU, or a node where ``gpu`` and ``rank`` are None, in the words of the job.

    ``gpu`` is ``dddd:bb:dd`` where that is known, else as the exporter names it.
    """

    node: str
    gpu: str | None = None
    rank: int | None = None

    @property
    def bus_id(self) -> str | None:
        """Its ``gpu`` where that is a bus id."""
        return self.gpu if ":" in (self.gpu or "") else None


@dataclass(frozen=True, slots=True, order=True)
class PanelPart:
    """What one row of a panel is of; ``artifact`` is the first file that tells of it."""

    node: str
    gpu: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """``value[i, k]`` is of ``parts[i]`` between ``start_ns + k * width_ns`` and the next, NaN
    where nothing was said; float32, shape (parts, stretches). ``late`` holds what came within
    2 min after the end, shape (parts,): the last value of counters, NaN of all else.
    """

    parts: tuple[PanelPart, ...]
    value: F32
    late: F32
    start_ns: int
    width_ns: int

    def at_ns(self, column: int) -> int:
        """When a stretch begins."""
        return self.start_ns + column * self.width_ns

    def rows(self, parts: Sequence[PanelPart]) -> F32:
        """The rows of ``parts`` in their order; NaN for those that the metric was not said of."""
        index = {part: row for row, part in enumerate(self.parts)}
        found = np.full((len(parts), self.value.shape[1]), np.nan, np.float32)
        for row, part in enumerate(parts):
            if part in index:
                found[row] = self.value[index[part]]
        return found


def find_seat(placement: Placement, part: PanelPart) -> Seat:
    """The seat of a part: its bus id and rank where they follow from what is known."""
    if not part.gpu.isdecimal():
        return Seat(part.node, part.gpu or None, placement.rank_of_gpu(part.node, part.gpu))
    rank = placement.rank_of_local(part.node, int(part.gpu))
    gpu = placement.gpu_of(rank) if rank is not None else None
    return Seat(part.node, gpu or part.gpu, rank)


@dataclass(frozen=True, slots=True)
class Panels:
    """The panels of an incident by metric; ``racks`` is node -> rack, as labels say."""

    by_metric: dict[Metric, Panel]
    racks: dict[str, str]
    artifacts: dict[tuple[Metric, PanelPart], str]
    """The first file that tells of a part."""
    end_ns: int

    def get(self, metric: Metric) -> Panel | None:
        """The panel of a metric; None where nothing was said of it."""
        return self.by_metric.get(metric)

    def artifact(self, part: PanelPart, *metrics: Metric) -> str:
        """The file that a claim on ``part`` rests on, by the first of ``metrics`` that has one."""
        files = (self.artifacts.get((metric, part)) for metric in metrics)
        return next((file for file in files if file is not None), "telemetry")


def build_panels(
    files: Sequence[TelemetryFile], end_ns: int, placement: Placement, nodes: Collection[str]
) -> Panels:
    """Everything that ``files`` say of the six hours before ``end_ns``.

    ``nodes`` are those of the job: what is told of others is left out, unless none is known. A
    series without a node is left out too.
    """
    start_ns = end_ns - LOOK_S * SECOND
    grids = [
        (file.artifact, file.grid)
        for file in sorted(files, key=lambda file: file.artifact)
        if file.grid is not None and file.grid.start_ns < end_ns and file.grid.end_ns > start_ns
    ]
    width = max((grid.width_ns for _, grid in grids), default=SECOND)
    columns = max((end_ns - start_ns) // width, 1)
    start_ns = end_ns // width * width - columns * width
    rows: dict[tuple[Metric, PanelPart], tuple[F32, np.float32]] = {}
    racks: dict[str, str] = {}
    artifacts: dict[tuple[Metric, PanelPart], str] = {}
    for artifact, grid in grids:
        fitted, late = cut_window(coarsen_grid(grid, width), start_ns, columns)
        for index, key in enumerate(grid.series):
            part = identify_part(key, placement, nodes)
            if part is None:
                continue
            if key.rack is not None:
                racks.setdefault(part.node, key.rack)
            place = (key.metric, part)
            artifacts.setdefault(place, artifact)
            rows[place] = _join_series(rows.get(place), fitted[index], late[index], key.metric)
    by_metric = {
        metric: _build_panel(metric, rows, start_ns, width)
        for metric in {metric for metric, _ in rows}
    }
    return Panels(by_metric, racks, artifacts, end_ns)


def place_in_order(placement: Placement, panels: Panels) -> Placement:
    """``placement`` with GPUs that nothing places by the order of their bus ids: local ranks take
    devices in it, where a node tells of as many GPUs as it has ranks.
    """
    gpus: dict[str, set[str]] = defaultdict(set)
    for panel in panels.by_metric.values():
        for part in panel.parts:
            if ":" in part.gpu:
                gpus[part.node].add(part.gpu)
    by_order: dict[tuple[str, str], int] = {}
    for node, buses in gpus.items():
        ranks = [placement.rank_of_local(node, place) for place in range(len(buses) + 1)]
        known = [rank for rank in ranks[:-1] if rank is not None]
        if ranks[-1] is None and len(known) == len(buses):
            by_order |= {(node, gpu): rank for gpu, rank in zip(sorted(buses), known, strict=True)}
    return replace(placement, rank_by_gpu={**by_order, **placement.rank_by_gpu})


def identify_part(key: SeriesKey, placement: Placement, nodes: Collection[str]) -> PanelPart | None:
    """What a series is of; None for a node that is not the job's."""
    if key.node is None:
        return None
    node = placement.node_of_address(key.node) or key.node
    if nodes and node not in nodes:
        return None
    gpu = key.gpu or ""
    return PanelPart(node, normalize_bus_id(gpu) or gpu, key.part or "")


def cut_window(grid: Grid, start_ns: int, columns: int) -> tuple[F32, F32]:
    """The grid's cells from ``start_ns`` on, and the last value within 2 min behind them."""
    rows, have = grid.value.shape
    cells = np.full((rows, columns), np.nan, np.float32)
    shift = (grid.start_ns - start_ns) // grid.width_ns
    begin, stop = max(0, -shift), min(have, columns - shift)
    if stop > begin:
        cells[:, begin + shift : stop + shift] = grid.value[:, begin:stop]
    late = np.full(rows, np.nan, np.float32)
    behind = max(stop, 0)
    for column in range(behind, min(have, behind + 1 + _SCRAPE_S * SECOND // grid.width_ns)):
        late = np.where(np.isnan(grid.value[:, column]), late, grid.value[:, column])
    return cells, late


def _join_series(
    known: tuple[F32, np.float32] | None, row: F32, late: np.float32, metric: Metric
) -> tuple[F32, np.float32]:
    if known is None:
        return row, late
    before, before_late = known
    if metric in COUNTERS:
        return np.fmax(before, row), np.fmax(before_late, late)
    return np.where(np.isnan(before), row, before), before_late


def _build_panel(
    metric: Metric,
    rows: dict[tuple[Metric, PanelPart], tuple[F32, np.float32]],
    start_ns: int,
    width_ns: int,
) -> Panel:
    parts = tuple(sorted(part for other, part in rows if other is metric))
    value = np.stack([rows[metric, part][0] for part in parts])
    late = np.array([rows[metric, part][1] for part in parts], np.float32)
    if metric in COUNTERS:
        value = fill_gaps(value, value.shape[1])
    else:
        value = fill_gaps(value, _MOST_GAP_S * SECOND // width_ns)
        late[:] = np.nan
    return Panel(parts, value, late, start_ns, width_ns)


def fill_gaps(value: F32, most: int) -> F32:
    """``value`` with gaps of at most ``most`` stretches filled by what was said last."""
    columns = np.arange(value.shape[1])
    known = np.maximum.accumulate(np.where(np.isnan(value), -1, columns), axis=1)
    found = np.take_along_axis(value, np.maximum(known, 0), axis=1)
    return np.where((known >= 0) & (columns - known <= most), found, np.float32(np.nan))


# Signal: what one detector of telemetry says of a part, before it is weighed.


@dataclass(frozen=True, slots=True)
class Signal:
    """A claim with its time: ``since_ns`` to ``until_ns``, known to ``error_ns``.

    ``name`` is the signature (``telemetry.throttle``). ``seat`` is None where no node is to
    blame; then ``nodes`` are those that it reaches. ``firm`` claims need no other source.
    ``severity`` is as of lines about hardware. ``text`` is a sentence without its full stop.
    """

    name: str
    kind: Kind
    category: Category
    seat: Seat | None
    since_ns: int
    until_ns: int
    error_ns: int
    text: str
    artifact: str
    also: tuple[Category, ...] = ()
    firm: bool = False
    severity: str = ""
    nodes: tuple[str, ...] = ()


def format_clock_time(ns: int) -> str:
    """``13:08``, in UTC."""
    minutes = ns // 60_000_000_000
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
