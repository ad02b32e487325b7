"""How often to checkpoint: Young's and Daly's intervals, and what the best one still costs.

Assumes exponential times between failures, a checkpoint that blocks, and one cost for each.
Sources: J. W. Young (Communications of the ACM 17, 1974); J. T. Daly (Future Generation
Computer Systems 22, 2006), equation 37. Everything is in seconds; losses are shares of time.
"""

import math
from dataclasses import dataclass

from triage.domain.wire import WireForm
from triage.errors import UsageError
from triage.statistics.estimate import Estimate


def compute_young_s(cost_s: float, mtti_s: float) -> float:
    """sqrt(2 C M): seconds of work between two checkpoints."""
    _check(cost_s, mtti_s)
    return math.sqrt(2 * cost_s * mtti_s)


def compute_daly_s(cost_s: float, mtti_s: float) -> float:
    """Daly's higher-order interval for C < 2M; M itself beyond."""
    _check(cost_s, mtti_s)
    if cost_s >= 2 * mtti_s:
        return mtti_s
    ratio = cost_s / (2 * mtti_s)
    return math.sqrt(2 * cost_s * mtti_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - cost_s


def estimate_loss(
    cost_s: float, mtti_s: float, *, restart_s: float = 0.0, interval_s: float | None = None
) -> float:
    """First-order share of time lost: C/tau + tau/2M + R/M, at Young's tau where none is given.

    At Young's interval it is sqrt(2C/M) + R/M. It is a first order: above about 0.25 it says
    no more than "too much", and it is capped at 1.
    """
    interval = compute_young_s(cost_s, mtti_s) if interval_s is None else interval_s
    if interval < 0 or restart_s < 0:
        raise UsageError("an interval and a time to restart cannot be below zero")
    saving = cost_s / interval if cost_s else 0.0
    return min(1.0, saving + interval / (2 * mtti_s) + restart_s / mtti_s)


@dataclass(frozen=True, slots=True)
class CheckpointPlan(WireForm):
    """What one cost of a checkpoint asks for; intervals follow from that of the MTTI.

    ``loss`` is at Young's interval, with the restart; ``loss_without_restart`` is what
    checkpoints and lost work alone take.
    """

    cost_s: float
    restart_s: float
    young: Estimate
    daly: Estimate
    loss: Estimate
    loss_without_restart: Estimate


def plan_checkpoints(cost_s: float, mtti: Estimate, *, restart_s: float = 0.0) -> CheckpointPlan:
    """Intervals and losses for an MTTI in hours, with the bounds that its interval gives."""
    seconds = mtti.growing(lambda hours: hours * 3600, "s")
    if cost_s <= 0 or restart_s < 0:
        raise UsageError("a checkpoint costs more than 0 s, and a restart not less than 0 s")
    return CheckpointPlan(
        cost_s,
        restart_s,
        young=seconds.growing(lambda m: compute_young_s(cost_s, m), "s"),
        daly=seconds.growing(lambda m: compute_daly_s(cost_s, m), "s"),
        loss=seconds.falling(lambda m: estimate_loss(cost_s, m, restart_s=restart_s), "share"),
        loss_without_restart=seconds.falling(lambda m: estimate_loss(cost_s, m), "share"),
    )


def _check(cost_s: float, mtti_s: float) -> None:
    if cost_s < 0 or mtti_s <= 0:
        raise UsageError("a checkpoint costs 0 s or more, and the MTTI is above 0 s")
