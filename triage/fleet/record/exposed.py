"""A record made ready to be counted: hours since its start, sizes, and which stops count.

Only what lies between the two times of the record is exposure. A stop of which no run is known
has no exposure either: it is shown among the causes, and kept out of every rate.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from triage.fleet.record.columns import FleetRecord
from triage.statistics.away.steps import sum_time_since

HOUR_NS: Final = 3_600 * 1_000_000_000

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Exposed:
    """Columns of runs (``start_h``, ``end_h``, ``gpus``, ``num_nodes``) and of stops.

    Hours count from the start of the record. ``at_h``, ``run`` and ``size`` are of unexpected
    stops within the record, by time; ``counted`` marks those that rates count, and ``index``
    is their place among the record's interruptions. ``by_calendar`` is True where not one run
    is known: then the time of the record itself is the exposure, as of one job.
    """

    period_h: float
    start_h: _Floats
    end_h: _Floats
    gpus: _Floats
    num_nodes: _Floats
    at_h: _Floats
    run: _Ints
    size: _Ints
    index: _Ints
    counted: _Flags
    num_planned: int
    by_calendar: bool

    @property
    def hours(self) -> _Floats:
        """How long each run lasted within the record."""
        return self.end_h - self.start_h

    @property
    def events(self) -> int:
        """Unexpected stops that rates count."""
        return int(self.counted.sum())

    @property
    def job_hours(self) -> float:
        """Hours of runs, or of the record where no run is known."""
        return self.period_h if self.by_calendar else float(self.hours.sum())

    @property
    def gpu_hours(self) -> float:
        """Hours of runs times their GPUs."""
        return float(self.hours @ self.gpus)

    @property
    def node_days(self) -> float:
        """Days of runs times their nodes."""
        return float(self.hours @ self.num_nodes) / 24

    def job_hours_before(self, edges_h: _Floats) -> _Floats:
        """Job-hours from the start of the record to each edge."""
        if self.by_calendar:
            return np.clip(edges_h, 0.0, self.period_h)
        return self._sum_before(edges_h, 1.0)

    def gpu_hours_before(self, edges_h: _Floats) -> _Floats:
        """GPU-hours from the start of the record to each edge."""
        return self._sum_before(edges_h, self.gpus)

    def _sum_before(self, edges_h: _Floats, weight: _Floats | float) -> _Floats:
        """Weighted hours of all runs up to each edge, whatever their overlap."""
        begun = sum_time_since(self.start_h, edges_h, weight)
        return begun - sum_time_since(self.end_h, edges_h, weight)

    def exposure_before(self, edges_h: _Floats) -> _Floats:
        """GPU-hours where sizes are known, else job-hours: what stops are in proportion to."""
        return self.gpu_hours_before(edges_h) if self.gpu_hours else self.job_hours_before(edges_h)

    def events_between(self, edges_h: _Floats) -> _Ints:
        """Counted stops in each of the windows between neighbouring edges; the last is closed."""
        return np.histogram(self.at_h[self.counted], edges_h)[0].astype(np.int64)


def clip_exposure(record: FleetRecord) -> Exposed:
    """The record's columns, clipped to its times; an end before its start is no exposure."""
    runs, stops = record.runs, record.interruptions
    period_h = max(0.0, (record.until_ns - record.since_ns) / HOUR_NS)
    start_h = np.clip((runs.start_ns - record.since_ns) / HOUR_NS, 0.0, period_h)
    end_h = np.clip((runs.end_ns - record.since_ns) / HOUR_NS, start_h, period_h)
    gpus, num_nodes = _fill_sizes(record)
    within = (stops.at_ns >= record.since_ns) & (stops.at_ns <= record.until_ns)
    index = np.flatnonzero(within & ~stops.planned)
    index = index[np.argsort(stops.at_ns[index], kind="stable")]
    run = stops.run[index].astype(np.int64)
    known = (run >= 0) & (run < len(gpus))
    by_calendar = not float((end_h - start_h).sum())
    size = np.maximum(stops.num_gpus[index].astype(np.int64), 0)
    size[known] = np.where(gpus[run[known]] > 0, gpus[run[known]], size[known])
    return Exposed(
        period_h=period_h,
        start_h=start_h,
        end_h=end_h,
        gpus=gpus,
        num_nodes=num_nodes,
        at_h=(stops.at_ns[index] - record.since_ns) / HOUR_NS,
        run=np.where(known, run, -1),
        size=size,
        index=index,
        counted=np.ones(len(index), np.bool_) if by_calendar else known,
        num_planned=int((within & stops.planned).sum()),
        by_calendar=by_calendar,
    )


def _fill_sizes(record: FleetRecord) -> tuple[_Floats, _Floats]:
    """GPUs and nodes of each run; one is taken from the other where a source left it out."""
    gpus = np.maximum(record.runs.num_gpus.astype(np.float64), 0)
    nodes = np.maximum(record.runs.num_nodes.astype(np.float64), 0)
    nodes = np.where(nodes > 0, nodes, np.diff(record.runs.node_at))
    each = record.gpus_per_node
    if each:
        gpus = np.where(gpus > 0, gpus, nodes * each)
        nodes = np.where(nodes > 0, nodes, gpus / each)
    return gpus, nodes
