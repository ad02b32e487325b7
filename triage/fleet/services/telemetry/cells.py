"""Cells: what the samples of one series within one hour come down to, and a node's day of them.

Cells of one hour whose times do not overlap add up exactly, in whatever order they come: a
counter's growth between two of them is known from the last value of the one and the first of
the other. A cell that lies within the time of another tells nothing new, and is dropped.
Of two that overlap in part nothing is dropped: what both saw then counts twice.

A node's day is kept as bytes::

    magic and version, 4 bytes
    one zstd frame with its size and a checksum:
        length of the header, 4 bytes, little-endian
        the header: JSON, the name of each series
        one column behind the other

A name is (metric, gpu, part); the last two are empty where there is none. An hour of a series
has some 20 bytes in it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson
import zstandard

from triage.errors import Corrupt
from triage.parsers.telemetry.metrics import COUNTERS, Metric

HOUR_US: Final = 3_600_000_000
DAY_HOURS: Final = 24
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SeriesName = tuple[str, str, str]
_MAGIC: Final = b"TRT\x01"
_LEVEL: Final = 3
# All GPUs, links and ports of a node for a day have a fraction of it.
_MAX_BYTES: Final = 256 << 20
# In memory, and as they are packed: hours count from the day's first, times from their hour's.
_COLUMNS: Final = (
    ("series", "i8", "<u4"), ("hour", "i8", "u1"), ("count", "i8", "<u4"),
    ("first_us", "i8", "<u4"), ("last_us", "i8", "<u4"),
    ("low", "f8", "<f8"), ("high", "f8", "<f8"), ("first", "f8", "<f8"), ("last", "f8", "<f8"),
    ("total", "f8", "<f8"), ("growth", "f8", "<f8"),
)  # fmt: skip
CELL: Final = np.dtype([(name, kind) for name, kind, _ in _COLUMNS])
"""``series`` is a number of the caller's; ``hour`` counts since the epoch.

``first_us`` and ``last_us`` are the times of the first and last of ``count`` samples, us since the
epoch; ``first`` and ``last`` their values; ``total`` the sum of all. ``growth`` is by how much a
counter grew within the cell (after a reset it grew by what it shows); 0 for what is no counter.
"""
Cells = np.ndarray[Any, np.dtype[np.void]]


def join_cells(parts: Sequence[Cells]) -> Cells:
    """Several one behind the other."""
    return np.concatenate([np.zeros(0, CELL), *parts])


def mark_changes(*keys: npt.NDArray[Any]) -> Flags:
    """Where any of the keys differs from the row before; always in the first row."""
    changes = np.ones(len(keys[0]), np.bool_)
    changes[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return changes


def fold(
    series: Ints, at_us: Ints, value: Floats, counts: Flags, apart: Ints | None = None
) -> Cells:
    """Cells of samples, by series and time; ``counts[series]`` is whether it is a counter.

    Samples are sorted by series and time, and no two of one series are of one time. ``apart``
    are numbers of samples; where it changes, a new cell begins within an hour too.
    """
    hour = at_us // HOUR_US
    start = np.flatnonzero(mark_changes(series, hour, *([] if apart is None else [apart])))
    cells = np.zeros(len(start), CELL)
    if not len(cells):
        return cells
    end = np.append(start[1:], len(series)) - 1
    step = np.diff(value, prepend=value[0])
    step = np.where(step < 0, value, step)
    step[start] = 0.0
    cells["series"], cells["hour"], cells["count"] = series[start], hour[start], end - start + 1
    cells["first_us"], cells["last_us"] = at_us[start], at_us[end]
    cells["low"], cells["high"] = (one.reduceat(value, start) for one in (np.minimum, np.maximum))
    cells["first"], cells["last"] = value[start], value[end]
    cells["total"] = np.add.reduceat(value, start)
    cells["growth"] = np.where(counts[cells["series"]], np.add.reduceat(step, start), 0.0)
    return cells


def merge_cells(cells: Cells, counts: Flags) -> Cells:
    """One cell for each series and hour, sorted by both."""
    keys = ("last_us", "first_us", "hour", "series")
    cells = cells[np.lexsort([cells[key] for key in keys])]
    new = mark_changes(cells["series"], cells["hour"])
    group, start = np.cumsum(new) - 1, np.flatnonzero(new)
    place = np.arange(len(cells)) - start[group]
    kept = cells[start]
    # By the place in their group: the first of all groups with the second of all, and so on.
    for turn in range(1, int(place.max(initial=0)) + 1):
        at = np.flatnonzero(place == turn)
        kept[group[at]] = _combine_overlapping(kept[group[at]], cells[at], counts)
    return kept


def _combine_overlapping(early: Cells, late: Cells, counts: Flags) -> Cells:
    """Cells of the same series and hours, of which ``early`` began no later, as one."""
    within = late["last_us"] <= early["last_us"]
    covers = (late["first_us"] == early["first_us"]) & ~within
    overlaps = (late["first_us"] <= early["last_us"]) & counts[early["series"]]
    between = late["first"] - early["last"]
    between = np.where(between < 0, late["first"], between)
    sums = early.copy()
    sums["count"] += late["count"]
    sums["total"] += late["total"]
    sums["last_us"], sums["last"] = late["last_us"], late["last"]
    sums["low"] = np.minimum(early["low"], late["low"])
    sums["high"] = np.maximum(early["high"], late["high"])
    growth = early["growth"] + late["growth"] + between
    least = np.maximum(early["growth"], late["growth"])
    growth = np.where(overlaps, np.maximum(least, sums["high"] - sums["low"]), growth)
    sums["growth"] = np.where(counts[early["series"]], growth, 0.0)
    sums[within], sums[covers] = early[within], late[covers]
    return sums


def pack_day(names: Sequence[SeriesName], cells: Cells, day: int) -> bytes:
    """Cells of ``day`` (days since the epoch), whose ``series`` count in ``names``."""
    header = orjson.dumps([len(cells), [list(name) for name in names]])
    small = cells.copy()
    for name in ("first_us", "last_us"):
        small[name] -= cells["hour"] * HOUR_US
    small["hour"] -= day * DAY_HOURS
    small["count"] = np.minimum(cells["count"], (1 << 32) - 1)
    columns = [small[name].astype(kind).tobytes() for name, _, kind in _COLUMNS]
    plain = b"".join([len(header).to_bytes(4, "little"), header, *columns])
    return _MAGIC + zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(plain)


def unpack_day(data: bytes, day: int) -> tuple[list[SeriesName], Cells]:
    """What :func:`pack_day` packed. Raises :class:`Corrupt` for anything else."""
    if data[:4] != _MAGIC:
        raise Corrupt("no packed telemetry of a known version")
    try:
        if not 0 <= zstandard.frame_content_size(data[4:]) <= _MAX_BYTES:
            raise Corrupt("packed telemetry is larger than any that is written")
        plain = zstandard.ZstdDecompressor().decompress(data[4:])
        begin = 4 + int.from_bytes(plain[:4], "little")
        count, named = orjson.loads(plain[4:begin])
        names = [(str(metric), str(gpu), str(part)) for metric, gpu, part in named]
        cells = np.zeros(count, CELL)
        for name, _, kind in _COLUMNS:
            column = np.frombuffer(plain, kind, count, begin)
            begin += column.nbytes
            cells[name] = column
    except (zstandard.ZstdError, ValueError, TypeError) as error:
        raise Corrupt(f"packed telemetry is damaged: {error}") from error
    if count and int(cells["series"].max()) >= len(names):
        raise Corrupt("packed telemetry names a series that it does not have")
    cells["hour"] += day * DAY_HOURS
    for name in ("first_us", "last_us"):
        cells[name] += cells["hour"] * HOUR_US
    return names, cells


# A node's day in some numbers: what a fleet's report and its standings sum up.
#
# Throttled time is reckoned from samples: each stands for the time between the samples of its
# hour, and one that is alone in its hour for five minutes. What a counter grew by between two
# hours counts in the later one.

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
Last = Mapping[SeriesName, float]


def is_counter(metric: str) -> bool:
    """Whether a series of this metric only grows, until a reset."""
    return metric in COUNTERS


def summarize_day(names: Sequence[SeriesName], cells: Cells, before: Last) -> dict[str, Any]:
    """The columns of a day, of cells that are sorted by series and hour; ``before`` are the last
    values of the day before, as far as known.

    Minutes are summed over GPUs, growth over all parts.
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
    inlet = cells[of == Metric.INLET_TEMP_C]
    mean_inlet = float(inlet["total"].sum() / inlet["count"].sum()) if len(inlet) else None
    return {
        "num_samples": int(cells["count"].sum()),
        "throttled_minutes": _sum_minutes(cells[of == SLOWED_DOWN]),
        "brake_minutes": _sum_minutes(cells[of == BRAKED]),
        "gpu_temp_max_c": float(temperatures.max()) if len(temperatures) else None,
        "inlet_mean_c": mean_inlet,
        **sums,
    }


def _sum_minutes(cells: Cells) -> float:
    """How long series of 0 and 1 were 1, summed over them."""
    span_s = (cells["last_us"] - cells["first_us"]) / 1e6
    between = np.maximum(cells["count"] - 1, 1)
    hold_s = np.where(cells["count"] > 1, span_s / between, _ALONE_S)
    return float(np.minimum(cells["total"] * hold_s, _HOUR_S).sum() / 60)


def _compute_series_growth(names: Sequence[SeriesName], cells: Cells, before: Last) -> Floats:
    """By how much each series grew over the day: within its hours and between them."""
    found = np.bincount(cells["series"], cells["growth"], len(names)).astype(float)
    earlier = np.full(len(cells), np.nan)
    same = cells["series"][1:] == cells["series"][:-1]
    earlier[1:] = np.where(same, cells["last"][:-1], np.nan)
    for index, name in enumerate(names) if before else ():
        at = int(np.searchsorted(cells["series"], index))
        if is_counter(name[0]) and at < len(cells) and cells["series"][at] == index:
            earlier[at] = before.get(name, np.nan)
    known = np.isfinite(earlier)
    step = cells["first"][known] - earlier[known]
    step = np.where(step < 0, cells["first"][known], step)
    return np.asarray(found + np.bincount(cells["series"][known], step, len(names)), np.float64)


def find_last_values(names: Sequence[SeriesName], cells: Cells) -> dict[SeriesName, float]:
    """The last value of each counter of a day, for the day after it."""
    newest = dict(zip(cells["series"].tolist(), cells["last"].tolist(), strict=True))
    return {
        name: newest[index]
        for index, name in enumerate(names)
        if index in newest and is_counter(name[0])
    }
