"""What stopped the fleet's jobs: counts by cause, with rates where the exposure is known."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from triage.domain.category import HARDWARE, LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_PARENT, Parent
from triage.domain.wire import Count
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.exposed import Exposed
from triage.statistics.cause_mix import estimate_share
from triage.statistics.dispersion import estimate_wider_rate
from triage.statistics.estimate import Estimate


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
    return estimate_wider_rate(events, seen.gpu_hours, wide, unit="per 1e6 GPU-h", per=1e6)


def _classify_origin(cause: Category | None) -> Origin:
    if cause in HARDWARE:
        return Origin.HARDWARE
    row = None if cause is None else LLAMA3_ROW[cause]
    parent = None if row is None else LLAMA3_PARENT[row]
    if parent is Parent.DEPENDENCY:
        return Origin.SOFTWARE
    return Origin.MAINTENANCE if parent is Parent.MAINTENANCE else Origin.UNKNOWN
