"""What stored telemetry says of nodes, racks and a cluster over some days.

Read from one row for each node and day; the packed hours of nodes are not touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

import numpy as np
from sqlalchemy.orm import Session

from triage.domain.wire import Count, Rounded, WireForm
from triage.fleet.services.telemetry.day import GROWTHS
from triage.fleet.services.telemetry.hours import Hours, average_hours
from triage.fleet.store import telemetry

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
    days: int = DAYS,
) -> dict[str, dict[str, float]]:
    """Node -> what its last ``days`` days before ``until`` come to, as a fleet's record holds it.

    Of all nodes, or of ``node`` alone.

    ``telemetry_days`` (how many have any), ``throttled_hours``, ``power_brake_hours`` (summed
    over GPUs), ``ecc_growth`` (uncorrectable errors), ``ecc_corrected_growth``,
    ``remap_growth``, ``nvlink_growth``, ``ib_growth``; ``gpu_temp_max_c`` and ``inlet_mean_c``
    where they were measured. The day that ``until`` lies in counts.
    """
    last = _count_day(until) + 1
    return {
        one.node: _collect_sums(one)
        for one in telemetry.list_node_sums(session, last - days, last, cluster=cluster, node=node)
    }


def _collect_sums(one: telemetry.NodeSums) -> dict[str, float]:
    found: dict[str, float] = {
        "telemetry_days": float(one.num_days),
        "throttled_hours": one.throttled_minutes / 60,
        "power_brake_hours": one.brake_minutes / 60,
        **{name: getattr(one, name) for name in dict.fromkeys(GROWTHS.values())},
    }
    measured = {name: getattr(one, name) for name in ("gpu_temp_max_c", "inlet_mean_c")}
    return found | {name: value for name, value in measured.items() if value is not None}


def list_rack_inlets(
    session: Session, until: datetime, *, cluster: str | None = None, days: int = DAYS
) -> list[RackInlet]:
    """The racks whose nodes have inlet temperatures in the last ``days`` days, by name."""
    last = _count_day(until) + 1
    by_rack: dict[str, dict[int, tuple[float, int]]] = {}
    for rack, day, mean, count in telemetry.list_inlets(
        session, last - days, last, cluster=cluster
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
