"""Telemetry of a small job, in the words that the tests need: what differs is the argument."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from triage.analysis.placement.identity import JobPlacement
from triage.analysis.telemetry.panels import Panels, build_panels
from triage.parsers.telemetry.grid import BASE_NS
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import Form, Grid, SeriesKey, TelemetryFile

SECOND = 1_000_000_000
# 13:14 UTC; the stop.
END_NS = 1_795_180_440 * SECOND
MINUTES = 60
NODES = ("n0", "n1")
GPUS = 4
PER_MINUTE = 2

Curve = Callable[[int], float]
"""Minutes before the stop -> value."""


def places() -> JobPlacement:
    """Rank = 4 * node + index; GPUs by bus id ``0000:0i:00``."""
    seats = [(node, local, f"0000:{local:02x}:00") for node in NODES for local in range(GPUS)]
    return JobPlacement(
        gpu_by_rank={rank: gpu for rank, (_, _, gpu) in enumerate(seats)},
        aliases={node: node for node in NODES},
        rank_by_gpu={(node, gpu): rank for rank, (node, _, gpu) in enumerate(seats)},
        rank_by_local={(node, local): rank for rank, (node, local, _) in enumerate(seats)},
    )


def file_of(
    curves: Mapping[SeriesKey, Curve], minutes: int = MINUTES, artifact: str = "t.csv"
) -> TelemetryFile:
    """A file with these series, from ``minutes`` before the stop to 10 min after it."""
    count = (minutes + 10) * PER_MINUTE
    ago = [minutes - k // PER_MINUTE for k in range(count)]
    value = np.array([[curve(one) for one in ago] for curve in curves.values()], np.float32)
    grid = Grid(tuple(curves), END_NS - minutes * 60 * SECOND, BASE_NS, value.reshape(-1, count))
    return TelemetryFile(artifact, Form.TABLE, int(value.size), False, grid)


def gauges(
    metric: Metric, usual: Curve | float, odd: Mapping[tuple[str, int], Curve] | None = None,
    nodes: Sequence[str] = NODES, idle: float | None = None,
) -> dict[SeriesKey, Curve]:  # fmt: skip
    """The same curve for all GPUs but ``odd`` ones; after the stop all read ``idle``."""

    def of(place: tuple[str, int]) -> Curve:
        curve = (odd or {}).get(place, usual)

        def value(ago: int) -> float:
            if idle is not None and ago <= 0:
                return idle
            return curve(ago) if callable(curve) else curve

        return value

    return {
        SeriesKey(metric, node, f"0000:{index:02x}:00"): of((node, index))
        for node in nodes
        for index in range(GPUS)
    }


def panels(*files: TelemetryFile, nodes: Sequence[str] = NODES) -> Panels:
    """What is looked at before the stop."""
    return build_panels(files, END_NS, places(), frozenset(nodes))
