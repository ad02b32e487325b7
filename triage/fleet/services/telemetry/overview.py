"""What telemetry adds to a fleet's record: heat and errors by node, racks, the daily swing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import numpy as np
from sqlalchemy.orm import Session

from triage.domain.wire import SentAs, WireForm
from triage.fleet.services.telemetry.hours import Hours
from triage.fleet.services.telemetry.rollups import (
    DAYS,
    RackInlet,
    average_cluster_hours,
    list_rack_inlets,
    sum_node_telemetry,
)
from triage.statistics.daily_cycle import Agreement, DailyCycle, fit_daily_cycle, measure_agreement

_HOUR_NS: Final = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class DailySwing(WireForm):
    """How step time and inlet temperature go with the hour of the day.

    ``agreement`` is that of the two, hour by hour; None where one of them is not known.
    ``step_by_hour`` is the mean step time of each of the 24 hours in UTC over the mean of all,
    null in an hour without a sample.
    """

    step_time: DailyCycle
    inlet: DailyCycle
    agreement: Agreement | None
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
    both = np.isfinite(hours.step_s) & np.isfinite(hours.inlet_c)
    return DailySwing(
        step_time=fit_daily_cycle(at_h, hours.step_s),
        inlet=fit_daily_cycle(at_h, hours.inlet_c),
        agreement=measure_agreement(at_h, hours.step_s, hours.inlet_c) if both.any() else None,
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
