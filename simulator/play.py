"""Run a simulated job into its fault, up to the moment at which its dumps are taken."""

from dataclasses import dataclass

from simulator.plan import Plan, normal_plan
from simulator.request import Request
from simulator.run import Run
from simulator.scene import Fault, Scene
from simulator.timeline import Pace, Timeline, run_job
from simulator.topology import Ints, Topology


@dataclass(frozen=True, slots=True)
class Played:
    """A job that is over: what was asked for, the normal step, the fault, and when all happened."""

    request: Request
    topology: Topology
    normal: Plan
    fault: Fault
    pace: Pace
    timeline: Timeline

    def run(self, offsets_ns: Ints) -> Run:
        """Its dumps; ``offsets_ns`` is, per rank, what its clock adds to the time of the run."""
        request = self.request
        return Run(self.topology, self.timeline, request.format(), offsets_ns, request.seed)


def play(request: Request) -> Played:
    """Run the job. Raises UsageError where its shape does not allow the fault."""
    topology = Topology(request.shape)
    style = request.style()
    normal = normal_plan(topology, style)
    scene = Scene(topology, style, normal.copy(), request.culprit, request.chance("fault"))
    fault = request.kind.fault(scene)
    pace = request.pace(normal)
    timeline = run_job(topology, normal, fault, pace)
    return Played(request, topology, normal, fault, pace, timeline)
