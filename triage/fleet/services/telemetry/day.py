"""A node's day in some numbers: what a fleet's report and its standings sum up.

Throttled time is reckoned from samples: each stands for the time between the samples of its
hour, and one that is alone in its hour for five minutes. What a counter grew by between two
hours counts in the later one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from triage.fleet.services.telemetry.cells import DAY_HOURS, Cells
from triage.fleet.services.telemetry.pack import SeriesName
from triage.parsers.telemetry.metrics import COUNTERS, Metric

# Series that throttle reasons become: 1 where a sample shows such a slowdown, else 0.
SLOWED_DOWN: Final = "slowed_down"
BRAKED: Final = "power_brake"
_RECOVERED: Final = "link_recovery_growth"
_ALONE_S: Final = 300.0
_HOUR_S: Final = 3600.0
GROWTHS: Final[Mapping[str, str]] = {
    Metric.ECC_DBE_TOTAL: "ecc_growth",
    Metric.ECC_SBE_TOTAL: "ecc_corrected_growth",
    Metric.REMAPPED_ROWS_CORRECTABLE: "remap_growth",
    Metric.REMAPPED_ROWS_UNCORRECTABLE: "remap_growth",
    Metric.NVLINK_ERRORS_CRC: "nvlink_growth",
    Metric.NVLINK_ERRORS_REPLAY: "nvlink_growth",
    Metric.NVLINK_ERRORS_RECOVERY: "nvlink_growth",
    # Discards tell of congestion, which is no fault of a port.
    Metric.IB_SYMBOL_ERROR: "ib_growth",
    Metric.IB_LINK_DOWNED: "ib_growth",
    Metric.IB_LINK_ERROR_RECOVERY: "ib_growth",
    Metric.IB_PORT_RCV_ERRORS: "ib_growth",
    Metric.IB_LOCAL_LINK_INTEGRITY: "ib_growth",
}
# Links that went down or had to be trained again: they count beside the errors above, too.
_RECOVERIES: Final = frozenset({
    Metric.NVLINK_ERRORS_RECOVERY, Metric.IB_LINK_ERROR_RECOVERY, Metric.IB_LINK_DOWNED,
})  # fmt: skip
# Errors since the driver was loaded are part of those since ever, where both are told.
_EVER: Final = "aggregate"
_SINCE_LOADED: Final = "volatile"
_Floats = npt.NDArray[np.float64]
Last = Mapping[SeriesName, float]


@dataclass(frozen=True, slots=True)
class Day:
    """One day of one node; minutes are summed over GPUs, growth over all parts.

    ``step_s`` and ``inlet_c`` are hourly means, ``num_steps`` how many samples of step time an
    hour had; None where the day has none.
    """

    num_samples: int = 0
    throttled_minutes: float = 0.0
    brake_minutes: float = 0.0
    gpu_temp_max_c: float | None = None
    inlet_mean_c: float | None = None
    ecc_growth: float = 0.0
    ecc_corrected_growth: float = 0.0
    remap_growth: float = 0.0
    nvlink_growth: float = 0.0
    ib_growth: float = 0.0
    link_recovery_growth: float = 0.0
    step_s: _Floats | None = None
    num_steps: _Floats | None = None
    inlet_c: _Floats | None = None


def is_counter(metric: str) -> bool:
    """Whether a series of this metric only grows, until a reset."""
    return metric in COUNTERS


def summarize_day(names: Sequence[SeriesName], cells: Cells, before: Last) -> Day:
    """The day of cells that are sorted by series and hour; ``before`` are the last values of the
    day before, as far as known.
    """
    metrics = np.array([metric for metric, _, _ in names] or [""])
    of = metrics[cells.series] if len(cells) else np.array([], metrics.dtype)
    sums: dict[str, float] = {}
    for index, grown in enumerate(_compute_series_growth(names, cells, before).tolist()):
        column = GROWTHS.get(names[index][0])
        if column is not None and grown and _is_counted_once(names, index):
            sums[column] = sums.get(column, 0.0) + grown
            if names[index][0] in _RECOVERIES:
                sums[_RECOVERED] = sums.get(_RECOVERED, 0.0) + grown
    temperatures = cells.high[of == Metric.GPU_TEMP_C]
    inlet = of == Metric.INLET_TEMP_C
    step = of == Metric.STEP_TIME_S
    mean_inlet = float(cells.total[inlet].sum() / cells.count[inlet].sum()) if inlet.any() else None
    num_steps, step_s = _average_by_hour(cells, step)
    return Day(
        num_samples=int(cells.count.sum()),
        throttled_minutes=sum_minutes(cells, of == SLOWED_DOWN),
        brake_minutes=sum_minutes(cells, of == BRAKED),
        gpu_temp_max_c=float(temperatures.max()) if len(temperatures) else None,
        inlet_mean_c=mean_inlet,
        step_s=step_s if step.any() else None,
        num_steps=num_steps if step.any() else None,
        inlet_c=_average_by_hour(cells, inlet)[1] if inlet.any() else None,
        **sums,
    )


def sum_minutes(cells: Cells, which: npt.NDArray[np.bool_]) -> float:
    """How long the series of 0 and 1 among ``which`` were 1, summed over them."""
    count, ones = cells.count[which], cells.total[which]
    span_s = (cells.last_us[which] - cells.first_us[which]) / 1e6
    hold_s = np.where(count > 1, span_s / np.maximum(count - 1, 1), _ALONE_S)
    return float(np.minimum(ones * hold_s, _HOUR_S).sum() / 60)


def _average_by_hour(cells: Cells, which: npt.NDArray[np.bool_]) -> tuple[_Floats, _Floats]:
    """How many samples each hour of the day has, and their mean; NaN for an hour without."""
    hour = cells.hour[which] % DAY_HOURS
    count = np.bincount(hour, cells.count[which].astype(float), DAY_HOURS).astype(float)
    total = np.bincount(hour, cells.total[which], DAY_HOURS)
    mean = np.full(DAY_HOURS, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return count, mean


def _compute_series_growth(names: Sequence[SeriesName], cells: Cells, before: Last) -> _Floats:
    """By how much each series grew over the day: within its hours and between them."""
    if not len(cells):
        return np.zeros(len(names))
    found = np.bincount(cells.series, cells.growth, len(names)).astype(float)
    same = cells.series[1:] == cells.series[:-1]
    step = cells.first[1:] - cells.last[:-1]
    step = np.where(step < 0, cells.first[1:], step)
    found += np.bincount(cells.series[1:][same], step[same], len(names))
    for index, name in enumerate(names):
        earlier = before.get(name) if before and is_counter(name[0]) else None
        at = int(np.searchsorted(cells.series, index))
        if earlier is not None and at < len(cells) and cells.series[at] == index:
            first = float(cells.first[at])
            found[index] += first - earlier if first >= earlier else first
    return found


def _is_counted_once(names: Sequence[SeriesName], index: int) -> bool:
    """Whether a series is not told by another one, of the same errors over a longer time."""
    metric, gpu, part = names[index]
    return part != _SINCE_LOADED or (metric, gpu, _EVER) not in names


def last_values(names: Sequence[SeriesName], cells: Cells) -> dict[SeriesName, float]:
    """The last value of each counter of a day, for the day after it."""
    newest = dict(zip(cells.series.tolist(), cells.last.tolist(), strict=True))
    return {
        name: newest[index]
        for index, name in enumerate(names)
        if index in newest and is_counter(name[0])
    }
