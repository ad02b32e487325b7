"""Files in the folder that do not belong to the run: an earlier attempt, another job."""

from dataclasses import replace

from simulator.plan import Plan, normal_plan
from simulator.program import StepStyle
from simulator.request import SECOND, Request
from simulator.run import Run
from simulator.scene import Dumped, Fault
from simulator.timeline import run_job
from simulator.topology import Shape, Topology

_FOREIGN_SHAPE = Shape(16, tp=2, pp=2)
FOREIGN_RANKS = [0, 1, 2, 5]
FOREIGN_PREFIX = "job8813_trace_rank_"
_EARLIER_NS = 7200 * SECOND
_EARLIER_STEPS = 40


def stale_rank(asked: Request, taken: set[int]) -> int | None:
    """An innocent rank whose file was not written anew; ``taken`` are those that cannot be."""
    innocent = [rank for rank in range(asked.shape.ranks) if rank not in taken]
    return asked.chance("stale").choice(innocent) if innocent else None


def earlier_attempt(asked: Request, normal: Plan) -> Run:
    """The same job two hours before, which came to an end of its own."""
    topology = Topology(asked.shape)
    kept = min(_EARLIER_STEPS, asked.pace(normal).kept)
    pace = replace(asked.pace(normal), steps=_EARLIER_STEPS, kept=kept, seed=asked.seed + 1)
    timeline = run_job(topology, normal, _no_fault(normal), pace)
    return Run(topology, timeline, asked.format(), asked.offsets() - _EARLIER_NS, asked.seed + 1)


def other_job(asked: Request) -> Run:
    """Another, smaller job that ran at about the same time."""
    other = replace(asked, shape=_FOREIGN_SHAPE, seed=asked.seed + 8813)
    topology = Topology(_FOREIGN_SHAPE)
    normal = normal_plan(topology, StepStyle())
    timeline = run_job(topology, normal, _no_fault(normal), other.pace(normal))
    return Run(topology, timeline, other.format(), other.offsets(), other.seed)


def _no_fault(normal: Plan) -> Fault:
    return Fault(normal.copy(), (), "none", (), "none", dumped=Dumped.AFTER)
