"""How often a fleet's jobs stop, and why: by cause, size of job, over time."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from triage.domain.category import HARDWARE, LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_PARENT, Parent
from triage.domain.wire import Count, Key, WireForm
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.exposed import HOUR_NS, Exposed
from triage.statistics.cause_mix import estimate_share
from triage.statistics.dispersion import Dispersion, measure_dispersion
from triage.statistics.estimate import Estimate
from triage.statistics.rates import Comparison, compare_rates, estimate_mtti, estimate_rate


class Origin(StrEnum):
    """Where a cause lies, as a plan for more GPUs sees it."""

    HARDWARE = "hardware"  # grows with the GPUs
    SOFTWARE = "software"  # software and what it depends on: does not
    MAINTENANCE = "maintenance"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CauseCount:
    """One cause: ``count`` stops, of which ``resolved`` were named by a person.

    ``category`` is None for stops that nobody triaged. ``row`` is the Llama 3 row, None where
    the table has none. ``rate`` is per 1e6 GPU-hours, over the stops that have a run.
    """

    category: Category | None
    row: Annotated[str | None, "Row of the Llama 3 table."]
    count: Count
    resolved: Count
    share: Estimate
    rate: Annotated[Estimate, "Per 1e6 GPU-hours."]


@dataclass(frozen=True, slots=True)
class OriginCount:
    """Stops of one origin, and GPU-hours between them."""

    origin: Origin
    count: Count
    share: Estimate
    rate: Estimate


def count_by_cause(record: FleetRecord, seen: Exposed, factor: float) -> tuple[CauseCount, ...]:
    """Causes of all unexpected stops, most frequent first."""
    causes = [record.interruptions.cause[i] for i in seen.index]
    resolved = Counter(
        cause
        for cause, i in zip(causes, seen.index, strict=True)
        if record.interruptions.resolved[i]
    )
    counted = Counter(cause for cause, one in zip(causes, seen.counted, strict=True) if one)
    counts = Counter(causes)
    order = sorted(counts, key=lambda cause: (-counts[cause], cause is None, cause or ""))
    return tuple(
        CauseCount(
            cause,
            None if cause is None else LLAMA3_ROW[cause],
            counts[cause],
            resolved[cause],
            estimate_share(counts[cause], len(causes)),
            _estimate_cause_rate(counted[cause], seen, factor),
        )
        for cause in order
    )


def count_by_origin(record: FleetRecord, seen: Exposed, factor: float) -> tuple[OriginCount, ...]:
    """The same by origin, all four of them; ``count`` is of stops that rates count."""
    origins = [_classify_origin(record.interruptions.cause[i]) for i in seen.index[seen.counted]]
    counts = Counter(origins)
    return tuple(
        OriginCount(
            origin,
            counts[origin],
            estimate_share(counts[origin], len(origins)),
            _estimate_cause_rate(counts[origin], seen, factor),
        )
        for origin in Origin
    )


def thin_dispersion(factor: float, part: int, whole: int) -> float:
    """Variance over mean of a part of clustered events that falls where it will."""
    return 1 + (factor - 1) * part / whole if whole else 1.0


def _estimate_cause_rate(events: int, seen: Exposed, factor: float) -> Estimate:
    wide = thin_dispersion(factor, events, seen.events)
    return estimate_rate(events, seen.gpu_hours, wide, unit="per 1e6 GPU-h", per=1e6)


def _classify_origin(cause: Category | None) -> Origin:
    if cause in HARDWARE:
        return Origin.HARDWARE
    row = None if cause is None else LLAMA3_ROW[cause]
    parent = None if row is None else LLAMA3_PARENT[row]
    if parent is Parent.DEPENDENCY:
        return Origin.SOFTWARE
    return Origin.MAINTENANCE if parent is Parent.MAINTENANCE else Origin.UNKNOWN


# A picture of at most so many windows: days, weeks, or four weeks.
_DAILY_UP_TO_DAYS: Final = 21
_WEEKLY_UP_TO_DAYS: Final = 750

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rates:
    """The rate in each of its units; all say the same of the same stops.

    ``calendar_mtti`` is hours of the record between any two unexpected stops, with a run or
    without; the others count only stops whose run is known.
    """

    mtti: Estimate
    calendar_mtti: Estimate
    gpu_hours_between: Estimate
    per_million_gpu_hours: Estimate
    per_thousand_node_days: Estimate


@dataclass(frozen=True, slots=True)
class BySize:
    """Jobs of ``from_gpus`` to ``to_gpus``; the sizes are powers of two."""

    from_gpus: int
    to_gpus: int
    runs: int
    job_hours: float
    gpu_hours: float
    events: int
    mtti: Estimate
    gpu_hours_between: Estimate


@dataclass(frozen=True, slots=True)
class SizeTest:
    """Whether the rate per GPU-hour is one at all sizes; None where too little was seen."""

    p_value: float | None
    differs: bool | None


@dataclass(frozen=True, slots=True)
class MttiWindow(WireForm):
    """One stretch of the period, with its times."""

    events: Count
    job_hours: float
    gpu_hours: float
    mtti: Estimate
    gpu_hours_between: Estimate
    from_: Annotated[datetime, Key("from")]
    to: datetime


@dataclass(frozen=True, slots=True)
class Periods:
    """The record's end against what was before; the ratio is later over earlier."""

    split_h: float
    comparison: Comparison


def estimate_rates(seen: Exposed, factor: float) -> Rates:
    """Rates of the whole record; ``factor`` is that of clustered events."""
    events = seen.events
    return Rates(
        estimate_mtti(events, seen.job_hours, factor),
        estimate_mtti(len(seen.index), seen.period_h, factor),
        estimate_mtti(events, seen.gpu_hours, factor, unit="GPU-h"),
        estimate_rate(events, seen.gpu_hours, factor, unit="per 1e6 GPU-h", per=1e6),
        estimate_rate(events, seen.node_days, factor, unit="per 1,000 node-days", per=1e3),
    )


def measure_clustering(seen: Exposed, edges_h: _Floats) -> Dispersion:
    """Over-dispersion of the days between ``edges_h``."""
    return measure_dispersion(seen.events_between(edges_h), np.diff(seen.exposure_before(edges_h)))


def compute_day_edges(record: FleetRecord, seen: Exposed) -> _Floats:
    """The record's start, each midnight in UTC within it, and its end; in its hours."""
    day_ns = 24 * HOUR_NS
    first = -(-(record.since_ns + 1) // day_ns) * day_ns
    midnights = np.arange(first, record.until_ns, day_ns, dtype=np.int64)
    return np.concatenate([[0.0], (midnights - record.since_ns) / HOUR_NS, [seen.period_h]])


def estimate_by_size(seen: Exposed, factor: float) -> tuple[BySize, ...]:
    """Rates by powers of two of GPUs, smallest first; runs of unknown size are left out."""
    known = seen.gpus > 0
    if not known.any():
        return ()
    power = np.zeros(len(seen.gpus), np.int64)
    power[known] = _compute_power(seen.gpus[known])
    at = np.zeros(len(seen.index), np.int64)
    at[seen.size > 0] = _compute_power(seen.size[seen.size > 0].astype(np.float64))
    rows = []
    for one in np.unique(power[known]):
        runs = known & (power == one)
        job_hours = float(seen.hours[runs].sum())
        gpu_hours = float(seen.hours[runs] @ seen.gpus[runs])
        events = int((seen.counted & (seen.size > 0) & (at == one)).sum())
        wide = thin_dispersion(factor, events, seen.events)
        rows.append(
            BySize(
                int(2 ** (one - 1)) + 1 if one else 1,
                int(2**one),
                int(runs.sum()),
                job_hours,
                gpu_hours,
                events,
                estimate_mtti(events, job_hours, wide),
                estimate_mtti(events, gpu_hours, wide, unit="GPU-h"),
            )
        )
    return tuple(rows)


def compare_sizes(rows: tuple[BySize, ...], factor: float) -> SizeTest:
    """Chi-square of events by size against one rate per GPU-hour, sizes that expect five."""
    from scipy.stats import chi2

    exposure = np.array([row.gpu_hours for row in rows])
    events = np.array([row.events for row in rows], np.float64)
    if not events.sum() or not exposure.sum():
        return SizeTest(None, None)
    enough = events.sum() * exposure / exposure.sum() >= 5
    if enough.sum() < 2 or not events[enough].sum():
        return SizeTest(None, None)
    expected = events[enough].sum() * exposure[enough] / exposure[enough].sum()
    statistic = float(((events[enough] - expected) ** 2 / expected).sum()) / factor
    p_value = float(chi2.sf(statistic, int(enough.sum()) - 1))
    return SizeTest(p_value, p_value < 0.05)


def divide_into_windows(
    record: FleetRecord, seen: Exposed, factor: float
) -> tuple[MttiWindow, ...]:
    """The record in windows of a day, a week or four weeks, by its length."""
    if not seen.period_h:
        return ()
    days = seen.period_h / 24
    step_h = 24.0 * (1 if days <= _DAILY_UP_TO_DAYS else 7 if days <= _WEEKLY_UP_TO_DAYS else 28)
    edges = np.append(np.arange(0.0, seen.period_h - 1e-9, step_h), seen.period_h)
    events = seen.events_between(edges)
    job_hours = np.diff(seen.job_hours_before(edges))
    gpu_hours = np.diff(seen.gpu_hours_before(edges))
    at = [datetime.fromtimestamp(record.since_ns / 1e9 + hours * 3600, UTC) for hours in edges]
    return tuple(
        MttiWindow(
            int(events[i]),
            max(0.0, float(job_hours[i])),
            max(0.0, float(gpu_hours[i])),
            estimate_mtti(int(events[i]), _clean_hours(job_hours[i]), factor),
            estimate_mtti(int(events[i]), _clean_hours(gpu_hours[i]), factor, unit="GPU-h"),
            at[i],
            at[i + 1],
        )
        for i in range(len(events))
    )


def compare_periods(seen: Exposed, last_days: float | None, factor: float) -> Periods:
    """The last days (half of the record where None) against all before."""
    last_h = seen.period_h / 2 if last_days is None else last_days * 24
    split = min(max(0.0, seen.period_h - last_h), seen.period_h)
    edges = np.array([0.0, split, seen.period_h])
    before, after = (_clean_hours(one) for one in np.diff(seen.exposure_before(edges)))
    at = seen.at_h[seen.counted]
    later = int((at >= split).sum())
    return Periods(split, compare_rates(later, after, len(at) - later, before, factor=factor))


def _clean_hours(hours: float) -> float:
    """Exposure between two edges, without what is left of rounding in a difference of sums."""
    return float(hours) if hours > 1e-3 else 0.0


def _compute_power(gpus: _Floats) -> npt.NDArray[np.int64]:
    """The k of the smallest 2^k that holds a job; for sizes of 1 and more."""
    return np.ceil(np.log2(np.maximum(gpus, 1.0)) - 1e-9).astype(np.int64)
