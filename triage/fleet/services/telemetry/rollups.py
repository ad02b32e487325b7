"""What stored telemetry adds to a fleet's record: heat and errors by node, racks, the daily swing.

Read from one row for each node and day; the packed hours of nodes are not touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import numpy as np
from sqlalchemy.orm import Session

from triage.domain.wire import Count, Rounded, SentAs, WireForm
from triage.fleet.services.telemetry.cells import GROWTHS, Hours, average_hours
from triage.fleet.store import telemetry
from triage.statistics.daily_cycle import DailyCycle, fit_daily_cycle

_HOUR_NS: Final = 3_600_000_000_000
DAYS: Final = 28
_DAY_S: Final = 86_400
# A trend over fewer days is weather.
_LEAST_DAYS: Final = 7

_THREE_DECIMALS: Final = Rounded(decimals=3)


@dataclass(frozen=True, slots=True)
class RackInlet(WireForm):
    """Mean inlet temperature of a rack by day.

    ``day`` counts from 1970-01-01 in UTC. ``ahead_c`` is how much warmer the rack is than the
    median rack on the same days; ``trend_c_per_week`` is how fast that grows, None over fewer
    than a week of days, or where there is no other rack to hold it against.
    """

    rack: str
    day: tuple[int, ...]
    inlet_c: Annotated[tuple[float, ...], _THREE_DECIMALS]
    num_nodes: Count
    ahead_c: Annotated[float | None, _THREE_DECIMALS]
    trend_c_per_week: Annotated[float | None, _THREE_DECIMALS]


def sum_node_telemetry(
    session: Session,
    until: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> dict[str, dict[str, float]]:
    """Node -> what its last 28 days before ``until`` come to, as a fleet's record holds it.

    Of all nodes, or of ``node`` alone.

    ``telemetry_days`` (how many have any), ``throttled_hours``, ``power_brake_hours`` (summed
    over GPUs), ``ecc_growth`` (uncorrectable errors), ``ecc_corrected_growth``,
    ``remap_growth``, ``nvlink_growth``, ``ib_growth``; ``gpu_temp_max_c`` and ``inlet_mean_c``
    where they were measured. The day that ``until`` lies in counts.
    """
    last = _count_day(until) + 1
    rows = telemetry.list_node_sums(session, last - DAYS, last, cluster=cluster, node=node)
    return {name: _collect_sums(sums) for name, sums in rows.items()}


def _collect_sums(sums: Mapping[str, float | None]) -> dict[str, float]:
    found = {
        "telemetry_days": float(sums["num_days"] or 0),
        "throttled_hours": (sums["throttled_minutes"] or 0.0) / 60,
        "power_brake_hours": (sums["brake_minutes"] or 0.0) / 60,
        **{name: sums[name] or 0.0 for name in dict.fromkeys(GROWTHS.values())},
    }
    measured = {name: sums[name] for name in ("gpu_temp_max_c", "inlet_mean_c")}
    return found | {name: value for name, value in measured.items() if value is not None}


def list_rack_inlets(
    session: Session, until: datetime, *, cluster: str | None = None
) -> list[RackInlet]:
    """The racks whose nodes have inlet temperatures in the last 28 days, by name."""
    last = _count_day(until) + 1
    by_rack: dict[str, dict[int, tuple[float, int]]] = {}
    for rack, day, mean, count in telemetry.list_inlets(
        session, last - DAYS, last, cluster=cluster
    ):
        by_rack.setdefault(rack, {})[day] = (mean, count)
    usual = _compute_median_by_day(by_rack)
    return [_make_rack_inlet(rack, found, usual) for rack, found in sorted(by_rack.items())]


def _compute_median_by_day(
    by_rack: Mapping[str, Mapping[int, tuple[float, int]]],
) -> dict[int, float]:
    """The median rack of each day that has two racks at least."""
    of_day: dict[int, list[float]] = {}
    for found in by_rack.values():
        for day, (mean, _) in found.items():
            of_day.setdefault(day, []).append(mean)
    return {day: float(np.median(means)) for day, means in of_day.items() if len(means) > 1}


def _make_rack_inlet(
    rack: str, found: Mapping[int, tuple[float, int]], usual: Mapping[int, float]
) -> RackInlet:
    days = sorted(found)
    both = [(day, found[day][0] - usual[day]) for day in days if day in usual]
    trend = None
    if len(both) >= _LEAST_DAYS:
        at, ahead = np.array(both, float).T
        trend = float(np.polyfit(at - at[0], ahead, 1)[0]) * 7
    return RackInlet(
        rack=rack,
        day=tuple(days),
        inlet_c=tuple(found[day][0] for day in days),
        num_nodes=max(count for _, count in found.values()),
        ahead_c=float(np.mean([ahead for _, ahead in both])) if both else None,
        trend_c_per_week=trend,
    )


def average_cluster_hours(
    session: Session, since: datetime, until: datetime, *, cluster: str | None = None
) -> Hours:
    """Step time and inlet temperature by the hour, the mean over nodes: for the daily swing.

    Whole days in UTC, from that of ``since`` to that of ``until``.
    """
    rows = telemetry.list_hours_since(
        session, _count_day(since), _count_day(until) + 1, cluster=cluster
    )
    return average_hours(rows)


def _count_day(at: datetime) -> int:
    return int(at.timestamp() // _DAY_S)


@dataclass(frozen=True, slots=True)
class DailySwing(WireForm):
    """How step time and inlet temperature go with the hour of the day.

    ``step_by_hour`` is the mean step time of each of the 24 hours in UTC over the mean of all,
    null in an hour without a sample.
    """

    step_time: DailyCycle
    inlet: DailyCycle
    step_by_hour: Annotated[tuple[float | None, ...], SentAs(tuple[float | None, ...])]


@dataclass(frozen=True, slots=True)
class FleetTelemetry:
    """The last 28 days of telemetry before the end of a period.

    ``nodes`` are roll-ups as a fleet's record holds them; ``swing`` is None without step time.
    """

    nodes: Mapping[str, Mapping[str, float]]
    racks: tuple[RackInlet, ...]
    swing: DailySwing | None

    def to_dict(self, top: int) -> dict[str, Any]:
        """The wire form; the ``top`` nodes that were throttled longest."""
        hottest = sorted(
            self.nodes.items(), key=lambda one: (-one[1].get("throttled_hours", 0.0), one[0])
        )
        return {
            "num_nodes": len(self.nodes),
            "nodes": [{"node": node, **sums} for node, sums in hottest[:top]],
            "racks": [one.to_dict() for one in self.racks],
            "daily_swing": None if self.swing is None else self.swing.to_dict(),
        }


def read_fleet_telemetry(session: Session, until: datetime, cluster: str | None) -> FleetTelemetry:
    """What is stored of the 28 days before ``until``."""
    since = until - timedelta(days=DAYS)
    return FleetTelemetry(
        nodes=sum_node_telemetry(session, until, cluster=cluster),
        racks=tuple(list_rack_inlets(session, until, cluster=cluster)),
        swing=fit_daily_swing(average_cluster_hours(session, since, until, cluster=cluster)),
    )


def fit_daily_swing(hours: Hours) -> DailySwing | None:
    """The daily swing of these hours; None where no step time is among them."""
    if not np.isfinite(hours.step_s).any():
        return None
    at_h = hours.at_ns / _HOUR_NS
    return DailySwing(
        step_time=fit_daily_cycle(at_h, hours.step_s),
        inlet=fit_daily_cycle(at_h, hours.inlet_c),
        step_by_hour=average_by_hour(hours),
    )


def average_by_hour(hours: Hours) -> tuple[float | None, ...]:
    """The mean of each hour of the day against that of all; no step takes no time, or less."""
    known = np.isfinite(hours.step_s) & (hours.step_s > 0)
    if not known.any():
        return (None,) * 24
    hour = (hours.at_ns[known] // _HOUR_NS % 24).astype(np.int64)
    weight = hours.num_steps[known]
    sums = np.bincount(hour, weights=hours.step_s[known] * weight, minlength=24)
    counts = np.bincount(hour, weights=weight, minlength=24)
    mean = sums.sum() / counts.sum()
    return tuple(
        round(float(total / count / mean), 6) if count else None
        for total, count in zip(sums, counts, strict=True)
    )
