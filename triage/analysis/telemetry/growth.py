"""Counters of errors that stood still and begin to grow before a stop.

A counter says that something happened, not when: it is dated to the first scrape that shows
it. One that grows all day long is how its part lives, and says nothing of this stop.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.telemetry.panels import (
    SECOND,
    Panel,
    Panels,
    Seat,
    Signal,
    TelemetryPlacement,
    format_clock_time,
)
from triage.domain.category import Category
from triage.domain.evidence import Kind
from triage.parsers.telemetry.metrics import Metric

# Growth that began earlier than this before the stop is of another trouble ...
_WITHIN_S: Final = 3600
# ... and before it, the counter has to have stood still for this long.
_QUIET_S: Final = 600
# More parts than this at once follow from something that they share.
_MOST_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What growth of a counter means; ``least`` is how much of it is more than noise."""

    metric: Metric
    what: str
    kind: Kind
    category: Category
    least: float
    also: tuple[Category, ...] = ()
    firm: bool = False
    severity: str = ""


WATCHED: Final = (
    _Meaning(Metric.ECC_DBE_TOTAL, "uncorrectable ECC errors", Kind.ECC, Category.GPU_HBM, 1,
            (Category.GPU_SRAM,), firm=True),
    _Meaning(Metric.REMAPPED_ROWS_FAILURE, "failures to remap a row", Kind.ECC, Category.GPU_HBM, 1,
            firm=True),
    _Meaning(Metric.REMAPPED_ROWS_UNCORRECTABLE, "rows remapped for uncorrectable errors", Kind.ECC,
            Category.GPU_HBM, 1),
    _Meaning(Metric.REMAPPED_ROWS_PENDING, "rows that wait to be remapped", Kind.ECC,
            Category.GPU_HBM, 1),
    _Meaning(Metric.REMAPPED_ROWS_CORRECTABLE, "rows remapped for corrected errors", Kind.ECC,
            Category.GPU_HBM, 1, severity="corrected"),
    _Meaning(Metric.ECC_SBE_TOTAL, "corrected ECC errors", Kind.ECC, Category.GPU_HBM, 10,
            (Category.GPU_SRAM,), severity="corrected"),
    _Meaning(Metric.NVLINK_ERRORS_RECOVERY, "NVLink recoveries", Kind.LINK, Category.NVLINK, 1),
    _Meaning(Metric.NVLINK_ERRORS_REPLAY, "NVLink replays", Kind.LINK, Category.NVLINK, 100,
            severity="corrected"),
    _Meaning(Metric.NVLINK_ERRORS_CRC, "NVLink CRC errors", Kind.LINK, Category.NVLINK, 100,
            severity="corrected"),
    _Meaning(Metric.IB_LINK_DOWNED, "times that a link went down", Kind.LINK, Category.NETWORK, 1,
            (Category.NIC,)),
    _Meaning(Metric.IB_LINK_ERROR_RECOVERY, "link recoveries", Kind.LINK, Category.NETWORK, 1,
            (Category.NIC,)),
    _Meaning(Metric.IB_LOCAL_LINK_INTEGRITY, "link integrity errors", Kind.LINK, Category.NETWORK,
            10, (Category.NIC,)),
    _Meaning(Metric.IB_SYMBOL_ERROR, "symbol errors", Kind.LINK, Category.NETWORK, 100,
            (Category.NIC,), severity="warn"),
    _Meaning(Metric.IB_PORT_RCV_ERRORS, "packets received with errors", Kind.LINK, Category.NETWORK,
            100, (Category.NIC,), severity="warn"),
)  # fmt: skip


class CounterGrowth:
    """Error counters that begin to grow within an hour before the stop.

    Reads:  ECC, remapped rows, NVLink and InfiniBand counters, one series a part.
    Yields: ``telemetry.METRIC`` for each part; what the hardware mended is mild.
    Silent: where the counter was not seen to stand still for ten minutes before (since it was
            reset), and where a quarter of all parts grow at once.
    """

    def run(self, panels: Panels, places: TelemetryPlacement) -> Iterator[Signal]:
        """The signals that ``panels`` give."""
        for watched in WATCHED:
            panel = panels.get(watched.metric)
            if panel is None:
                continue
            growing = [
                grown
                for row in range(len(panel.parts))
                if (grown := _measure_growth(panel, row, watched)) is not None
            ]
            if len(growing) > max(1, _MOST_SHARE * len(panel.parts)):
                continue
            for grown in growing:
                part = panel.parts[grown.row]
                artifact = panels.artifact(watched.metric, part)
                yield _make_signal(watched, panel, grown, places.seat(part), artifact)


@dataclass(frozen=True, slots=True)
class _Growth:
    """That the counter of one row of a panel grows from stretch ``first`` to ``last``, and its
    values before and after.
    """

    row: int
    first: int
    last: int
    low: float
    high: float


def _measure_growth(panel: Panel, row: int, watched: _Meaning) -> _Growth | None:
    """The growth of a row's counter; None where there is none, or where it is no news."""
    # What breaks a GPU shows in the first scrape behind the stop that it makes.
    late = panel.late[row : row + 1] if watched.firm else np.empty(0, np.float32)
    value = np.concatenate([panel.value[row], late])
    columns = np.flatnonzero(~np.isnan(value))
    resets = np.flatnonzero(np.diff(value[columns]) < 0)
    columns = columns[resets[-1] + 1 :] if len(resets) else columns
    if len(columns) < _MIN_KNOWN:
        return None
    grows = columns[1:][np.diff(value[columns]) > 0]
    if not len(grows):
        return None
    recent = len(panel.value[row]) - _WITHIN_S * SECOND // panel.width_ns
    quiet = max(1, _QUIET_S * SECOND // panel.width_ns)
    first, last = int(grows[0]), int(grows[-1])
    low, high = float(value[columns[0]]), float(value[columns[-1]])
    if first < recent or first - int(columns[0]) < quiet or high - low < watched.least:
        return None
    return _Growth(row, first, last, low, high)


# A scrape before, one of standing still, and one that shows it.
_MIN_KNOWN: Final = 3


def _make_signal(
    watched: _Meaning, panel: Panel, grown: _Growth, seat: Seat, artifact: str
) -> Signal:
    part = panel.parts[grown.row]
    since = panel.at_ns(grown.first)
    where = " ".join(word for word in (f"GPU {seat.gpu}" if seat.gpu else "", part.part) if word)
    at = f" of {where}" if where else ""
    return Signal(
        name=f"telemetry.{watched.metric}",
        kind=watched.kind,
        category=watched.category,
        also=watched.also,
        seat=seat,
        since_ns=since,
        until_ns=panel.at_ns(grown.last + 1),
        error_ns=panel.width_ns,
        text=(
            f"{watched.what}{at} grow from {grown.low:.0f} to {grown.high:.0f} since"
            f" {format_clock_time(since)} UTC; they stood still before"
        ),
        artifact=artifact,
        firm=watched.firm,
        severity=watched.severity,
    )
