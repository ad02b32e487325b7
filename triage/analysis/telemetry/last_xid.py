"""The last Xid of each GPU, as exporters publish it: ``DCGM_FI_DEV_XID_ERRORS``.

The gauge keeps the number until the next Xid, so only a scrape in which it changes says when
the driver reported it. What the first scrape of a file holds may be of any day before.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import numpy as np

from triage.analysis.telemetry.panels import PanelPart, TelemetryPlacement, part_of
from triage.domain.arrays import F32
from triage.domain.evidence import Evidence, Kind, Stamp, Trait
from triage.parsers.telemetry.file import TelemetryFile
from triage.parsers.telemetry.grid import Grid
from triage.parsers.telemetry.metrics import Metric
from triage.signatures.gpu.catalogue import xid

__all__ = ["last_xids"]

SIGNATURE: Final = "telemetry.last_xid"


def last_xids(
    files: Sequence[TelemetryFile], places: TelemetryPlacement, nodes: Collection[str]
) -> Iterator[Evidence]:
    """A row for every Xid that a gauge shows, at the scrape that shows it first.

    Also behind the stop: the gauge does not change because GPUs idle. It needs another source
    where nothing tells when it changed.
    """
    for artifact, grid, part, values in xid_gauges(files, places, nodes):
        seat = places.seat(part)
        for column, code, is_first in changes(values):
            entry = xid(code)
            if entry is None:
                continue
            at_ns = grid.start_ns + grid.width_ns * column
            stamp = Stamp(wall_ns=at_ns, zone_s=0, error_ns=grid.width_ns)
            yield Evidence(
                artifact=artifact,
                line=None,
                signature=SIGNATURE,
                kind=Kind.GPU,
                role=entry.role,
                text=f"the last Xid of GPU {part.gpu} is {code}, {entry.meaning}",
                category=entry.category,
                also=entry.also,
                code=code,
                weak=is_first,
                node=seat.node,
                rank=seat.rank,
                gpu=seat.gpu if seat.gpu is not None and ":" in seat.gpu else None,
                stamp=stamp,
                last_stamp=stamp,
                at_ns=at_ns,
                last_at_ns=at_ns,
                error_ns=grid.width_ns,
                fields={"severity": entry.severity},
                traits=frozenset({Trait.OF_A_REPORT}),
            )


def xid_gauges(
    files: Sequence[TelemetryFile], places: TelemetryPlacement, nodes: Collection[str]
) -> Iterator[tuple[str, Grid, PanelPart, F32]]:
    """(artifact, grid, GPU, values by stretch) of each gauge of the last Xid."""
    for file in files:
        if file.grid is None:
            continue
        for key, values in zip(file.grid.series, file.grid.value, strict=True):
            part = part_of(key, places, nodes) if key.metric is Metric.LAST_XID else None
            if part is not None and part.gpu:
                yield file.artifact, file.grid, part, values


def changes(values: F32) -> Iterator[tuple[int, int, bool]]:
    """(stretch, code, whether nothing was shown before) of each code unlike the one before."""
    before: int | None = None
    for column in np.flatnonzero(np.isfinite(values)).tolist():
        code = int(values[column])
        if code != before:
            yield column, code, before is None
        before = code
