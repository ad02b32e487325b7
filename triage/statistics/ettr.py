"""Effective training time: the share of wall time in which a job made progress that it kept.

The closed form is for small losses and one job; measured from records it rests on what is known
of the work that was done again. Source: "Revisiting Reliability in Large-Scale Machine Learning
Research Clusters" (arXiv 2410.21680), the expected ETTR.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.arrays import F64, Flags
from triage.domain.wire import WireForm
from triage.statistics.estimate import Estimate

# How often to checkpoint: Young's and Daly's intervals, and what the best one still costs.
#
# Assumes exponential times between failures, a checkpoint that blocks, and one cost for each.
# Sources: J. W. Young (Communications of the ACM 17, 1974); J. T. Daly (Future Generation
# Computer Systems 22, 2006), equation 37. Everything is in seconds; losses are shares of time.


def compute_young_s(cost_s: float, mtti_s: float) -> float:
    """sqrt(2 C M): seconds of work between two checkpoints."""
    return math.sqrt(2 * cost_s * mtti_s)


def compute_daly_s(cost_s: float, mtti_s: float) -> float:
    """Daly's higher-order interval for C < 2M; M itself beyond."""
    if cost_s >= 2 * mtti_s:
        return mtti_s
    ratio = cost_s / (2 * mtti_s)
    return math.sqrt(2 * cost_s * mtti_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - cost_s


def estimate_loss(cost_s: float, mtti_s: float, *, restart_s: float = 0.0) -> float:
    """First-order share of time lost at Young's interval tau: C/tau + tau/2M + R/M.

    It is sqrt(2C/M) + R/M. It is a first order: above about 0.25 it says no more than "too much",
    and it is capped at 1.
    """
    interval = compute_young_s(cost_s, mtti_s)
    return min(1.0, cost_s / interval + interval / (2 * mtti_s) + restart_s / mtti_s)


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
    return CheckpointPlan(
        cost_s,
        restart_s,
        young=seconds.growing(lambda m: compute_young_s(cost_s, m), "s"),
        daly=seconds.growing(lambda m: compute_daly_s(cost_s, m), "s"),
        loss=seconds.falling(lambda m: estimate_loss(cost_s, m, restart_s=restart_s), "share"),
        loss_without_restart=seconds.falling(lambda m: estimate_loss(cost_s, m), "share"),
    )


VALID_LOSS: Final = 0.25
"""Above this loss to failures, the closed form (a first order) is outside its validity."""
_DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Ettr(WireForm):
    """``share`` in [0, 1]; ``loss`` is N r (u0 + dt/2), which ``valid`` bounds by 0.25."""

    share: float
    loss: float
    valid: bool


def compute_expected_ettr(
    failures_per_day: float,
    *,
    restart_s: float,
    interval_s: float,
    write_s: float,
) -> Ettr:
    """(1 - N r (u0 + dt/2)) / (1 + w/dt), clamped to [0, 1].

    ``failures_per_day`` is N r of the whole job.
    """
    lost = failures_per_day * (restart_s + interval_s / 2) / _DAY_S
    share = max(0.0, 1 - lost) / (1 + write_s / interval_s)
    return Ettr(share, lost, lost <= VALID_LOSS)


def solve_longest_restart_s(
    wanted: float, failures_per_day: float, *, interval_s: float, write_s: float
) -> float | None:
    """The restart u0 at which the closed form gives ``wanted``; None where not even 0 s does."""
    lost = 1 - wanted * (1 + write_s / interval_s)
    restart_s = lost * _DAY_S / failures_per_day - interval_s / 2
    return restart_s if restart_s >= 0 else None


def compute_downtime_budget_min(
    hours: float, interruptions: int, *, wanted: float = 0.9
) -> float | None:
    """Minutes that each interruption may cost, lost work included; None after none."""
    return None if not interruptions else hours * 60 * (1 - wanted) / interruptions


@dataclass(frozen=True, slots=True)
class MeasuredEttr(WireForm):
    """Measured over runs: ``share`` = productive over wall, with an interval over runs.

    ``redone_hours`` is work that was lost and done again, weighted as the runs were: GPU-hours,
    where the weights are GPUs.
    """

    share: Estimate
    redone_hours: float


@dataclass(frozen=True, slots=True)
class RunCosts:
    """What runs cost that nobody recorded: the interval between checkpoints (0 for none), one
    write, one restart; in seconds.
    """

    checkpoint_s: float = 0.0
    write_s: float = 0.0
    restart_s: float = 0.0


_NO_COSTS: Final = RunCosts()


def measure_ettr(
    start_h: F64,
    end_h: F64,
    interrupted: Flags,
    *,
    costs: RunCosts = _NO_COSTS,
    weight: F64 | None = None,
) -> MeasuredEttr:
    """ETTR of runs from their times, weighted by ``weight`` (GPUs; each run 1 where absent).

    Of an interrupted run half a checkpoint interval is taken for lost, of every run its time
    to restart, and each interval pays one write. The time between runs does not count. The
    interval is that of a ratio over runs (Cochran, Sampling Techniques, 6.4).
    """
    length = np.maximum(end_h - start_h, 0.0)
    share_of = np.ones(len(length)) if weight is None else np.asarray(weight, np.float64)
    restart = np.minimum(costs.restart_s / 3600, length)
    redone = np.where(interrupted, np.minimum(costs.checkpoint_s / 7200, length - restart), 0.0)
    writing = costs.write_s / costs.checkpoint_s if costs.checkpoint_s else 0
    kept = (length - restart - redone) / (1 + writing)
    return MeasuredEttr(
        _estimate_ratio(kept * share_of, length * share_of),
        redone_hours=float((redone * share_of).sum()),
    )


def _estimate_ratio(kept: F64, wall: F64) -> Estimate:
    total = float(wall.sum())
    if total <= 0:
        return Estimate(None, None, None, 0, "share", notes=("no run has a length",))
    share = float(kept.sum()) / total
    if len(wall) < 2:
        return Estimate(share, None, None, 1, "share", notes=("one run gives no interval",))
    spread = (kept - share * wall) / wall.mean()
    error = float(np.sqrt((spread**2).sum() / (len(wall) - 1) / len(wall)))
    low, high = max(0.0, share - 1.96 * error), min(1.0, share + 1.96 * error)
    return Estimate(share, low, high, len(wall), "share")
