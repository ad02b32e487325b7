"""What taking a node out saves: GPU-hours for each node-day out of service, and whether it pays.

A fault of one node stops the whole job, and all its GPUs lose the work since the last checkpoint
and the restart. Assumes that the node would have been in the usual job, that a spare takes its
place there and fails as its peers do, and that a repair holds as often as those of the record.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.columns import FleetRecord
from triage.fleet.standings.history import FaultHistory

_HOURS: Final = 24.0
_HELD_DAYS: Final = 28.0
# Fewer repairs say nothing of how long one takes, or whether it holds.
_LEAST_REPAIRS: Final = 5
_UNKNOWN_REPAIR_DAYS: Final = 1.0
_UNKNOWN_HELD: Final = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """What a fault and a day out of service cost; ``gpus`` are those of the usual job.

    ``held`` is the part of ``num_repairs`` after which the node did not fail for 28 days,
    ``repair_days`` their mean length; both are assumed where repairs are too few.
    """

    gpus: int
    gpus_per_node: int
    lost_h: float
    repair_days: float
    held: float
    num_repairs: int

    @property
    def node_day(self) -> float:
        """GPU-hours of a node-day."""
        return _HOURS * self.gpus_per_node


def estimate_cost(record: FleetRecord, history: FaultHistory, lost_h: float) -> Cost | None:
    """The costs of a record; None where no run says how many GPUs a job and a node have."""
    runs = record.runs
    if not record.gpus_per_node or not (runs.num_gpus > 0).any():
        return None
    hours = np.maximum(runs.end_ns - runs.start_ns, 0) * runs.num_gpus.astype(np.float64)
    order = np.argsort(runs.num_gpus, kind="stable")
    middle = np.searchsorted(np.cumsum(hours[order]), hours.sum() / 2)
    gpus = int(runs.num_gpus[order][min(middle, len(order) - 1)])
    done = (history.back_day > history.day) & (history.back_day < history.days - _HELD_DAYS)
    num = int(done.sum())
    if num < _LEAST_REPAIRS:
        return Cost(gpus, record.gpus_per_node, lost_h, _UNKNOWN_REPAIR_DAYS, _UNKNOWN_HELD, num)
    days = float((history.back_day - history.day)[done].mean())
    return Cost(gpus, record.gpus_per_node, lost_h, days, _estimate_held_share(history, done), num)


def _estimate_held_share(
    history: FaultHistory, done: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> float:
    """The part of the repairs after which the node did not fail for 28 days."""
    order = np.lexsort((history.day, history.node))
    again = np.full(len(history), np.inf)
    same = history.node[order][1:] == history.node[order][:-1]
    again[order[:-1][same]] = history.day[order[1:][same]]
    return float((again[done] > history.back_day[done] + _HELD_DAYS).mean())


def estimate_saved_gpu_hours(cost: Cost, faults: float, times: float) -> float:
    """GPU-hours for each node-day out of service, of a node forecast to have so many faults.

    ``times`` is that over the forecast of its peers.
    """
    avoided = faults * max(1.0 - 1.0 / times, 0.0) * cost.held if times > 0 else 0.0
    return avoided * cost.gpus * cost.lost_h / max(cost.repair_days, 1 / _HOURS)


def describe_saving(cost: Cost, per_day: float) -> str:
    """Whether it pays, with the figures."""
    known = cost.num_repairs >= _LEAST_REPAIRS
    of = f"{cost.num_repairs} repairs" if known else "assumed, repairs are too few"
    verdict = "it pays" if per_day > cost.node_day else "it does not pay"
    return (
        f"taking it out saves {per_day:,.0f} GPU-hours a node-day, and a node-day is"
        f" {cost.node_day:,.0f}: {verdict} (a fault costs {cost.gpus:,} GPUs {cost.lost_h:g} h,"
        f" a repair takes {cost.repair_days:.1f} days and holds for 28 in {cost.held:.0%}: {of})"
    )
