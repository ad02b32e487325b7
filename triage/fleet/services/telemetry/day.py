"""A node's day in some numbers: what a fleet's report and its standings sum up.

Throttled time is reckoned from samples: each stands for the time between the samples of its
hour, and one that is alone in its hour for five minutes. What a counter grew by between two
hours counts in the later one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from triage.fleet.services.telemetry.cells import DAY_HOURS, Cells, Flags, Floats, Ints, SeriesName
from triage.parsers.telemetry.metrics import COUNTERS, Metric

# Series that throttle reasons become: 1 where a sample shows such a slowdown, else 0.
SLOWED_DOWN: Final = "slowed_down"
BRAKED: Final = "power_brake"
_RECOVERED: Final = "link_recovery_growth"
_ALONE_S: Final = 300.0
_HOUR_S: Final = 3600.0
_HOUR_NS: Final = 3_600_000_000_000
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
# Step time, how many samples it is of, and inlet temperature: 24 numbers each.
_ROWS: Final = 3
_KIND: Final = "<f4"
Last = Mapping[SeriesName, float]


def is_counter(metric: str) -> bool:
    """Whether a series of this metric only grows, until a reset."""
    return metric in COUNTERS


def summarize_day(names: Sequence[SeriesName], cells: Cells, before: Last) -> dict[str, Any]:
    """The columns of a day, of cells that are sorted by series and hour; ``before`` are the last
    values of the day before, as far as known.

    Minutes are summed over GPUs, growth over all parts. ``hours`` is step time and inlet
    temperature by the hour, None where the day has neither.
    """
    metrics = np.array([metric for metric, _, _ in names] or [""])
    of = metrics[cells["series"]]
    sums = dict.fromkeys([*GROWTHS.values(), _RECOVERED], 0.0)
    for (metric, gpu, part), grown in zip(
        names, _compute_series_growth(names, cells, before).tolist(), strict=True
    ):
        is_told_twice = part == _SINCE_LOADED and (metric, gpu, _EVER) in names
        if metric in GROWTHS and not is_told_twice:
            sums[GROWTHS[metric]] += grown
            sums[_RECOVERED] += grown if metric in _RECOVERIES else 0.0
    temperatures = cells["high"][of == Metric.GPU_TEMP_C]
    inlet, step = cells[of == Metric.INLET_TEMP_C], cells[of == Metric.STEP_TIME_S]
    mean_inlet = float(inlet["total"].sum() / inlet["count"].sum()) if len(inlet) else None
    num_steps, step_s = _average_by_hour(step)
    hours = np.asarray([step_s, num_steps, _average_by_hour(inlet)[1]], _KIND)
    return {
        "num_samples": int(cells["count"].sum()),
        "throttled_minutes": _sum_minutes(cells[of == SLOWED_DOWN]),
        "brake_minutes": _sum_minutes(cells[of == BRAKED]),
        "gpu_temp_max_c": float(temperatures.max()) if len(temperatures) else None,
        "inlet_mean_c": mean_inlet,
        **sums,
        "hours": hours.tobytes() if len(step) or len(inlet) else None,
    }


def _sum_minutes(cells: Cells) -> float:
    """How long series of 0 and 1 were 1, summed over them."""
    span_s = (cells["last_us"] - cells["first_us"]) / 1e6
    between = np.maximum(cells["count"] - 1, 1)
    hold_s = np.where(cells["count"] > 1, span_s / between, _ALONE_S)
    return float(np.minimum(cells["total"] * hold_s, _HOUR_S).sum() / 60)


def _average_by_hour(cells: Cells) -> tuple[Floats, Floats]:
    """How many samples each hour of the day has, and their mean; NaN for an hour without."""
    hour = cells["hour"] % DAY_HOURS
    count = np.bincount(hour, cells["count"].astype(float), DAY_HOURS).astype(float)
    return count, _divide(np.bincount(hour, cells["total"], DAY_HOURS).astype(float), count)


def _divide(total: Floats, count: Floats) -> Floats:
    mean = np.full(len(count), np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _compute_series_growth(names: Sequence[SeriesName], cells: Cells, before: Last) -> Floats:
    """By how much each series grew over the day: within its hours and between them."""
    found = np.bincount(cells["series"], cells["growth"], len(names)).astype(float)
    earlier = np.full(len(cells), np.nan)
    earlier[1:] = np.where(_find_same(cells), cells["last"][:-1], np.nan)
    for index, name in enumerate(names) if before else ():
        at = int(np.searchsorted(cells["series"], index))
        if is_counter(name[0]) and at < len(cells) and cells["series"][at] == index:
            earlier[at] = before.get(name, np.nan)
    known = np.isfinite(earlier)
    step = cells["first"][known] - earlier[known]
    step = np.where(step < 0, cells["first"][known], step)
    return np.asarray(found + np.bincount(cells["series"][known], step, len(names)), np.float64)


def _find_same(cells: Cells) -> Flags:
    """Which cells but the first go on with the series of the one before."""
    return np.asarray(cells["series"][1:] == cells["series"][:-1], np.bool_)


def find_last_values(names: Sequence[SeriesName], cells: Cells) -> dict[SeriesName, float]:
    """The last value of each counter of a day, for the day after it."""
    newest = dict(zip(cells["series"].tolist(), cells["last"].tolist(), strict=True))
    return {
        name: newest[index]
        for index, name in enumerate(names)
        if index in newest and is_counter(name[0])
    }


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of some days, in order of time; a value is NaN in an hour without a sample.

    ``at_ns`` is the middle of the hour; ``num_steps`` how many samples of step time it has.
    """

    at_ns: Ints
    step_s: Floats
    num_steps: Floats
    inlet_c: Floats


def average_hours(rows: Iterable[tuple[int, bytes]]) -> Hours:
    """The mean over nodes of each hour, of (day, its ``hours``) of any nodes and days.

    Step time is weighted by its samples. Bytes of another length are passed over.
    """
    sums: dict[int, Floats] = {}
    for day, data in rows:
        if len(data) != _ROWS * DAY_HOURS * 4:
            continue
        step, count, inlet = np.frombuffer(data, _KIND).reshape(_ROWS, DAY_HOURS).astype(float)
        told = np.isfinite(step) & (count > 0)
        both = [np.where(told, step * count, 0.0), np.where(told, count, 0.0)]
        rows_of_day = np.array([*both, np.nan_to_num(inlet), np.isfinite(inlet)])
        sums[day] = sums[day] + rows_of_day if day in sums else rows_of_day
    days = sorted(sums)
    table = np.concatenate([np.zeros((4, 0)), *(sums[day] for day in days)], axis=1)
    hours = (np.array(days, np.int64)[:, None] * DAY_HOURS + np.arange(DAY_HOURS)).ravel()
    return Hours(
        at_ns=hours * _HOUR_NS + _HOUR_NS // 2,
        step_s=_divide(table[0], table[1]),
        num_steps=table[1],
        inlet_c=_divide(table[2], table[3]),
    )
