"""All ways of judging looks at a running job."""

from typing import Final

from triage.analysis.live.case import LiveCase, LiveDetector
from triage.analysis.live.detectors.alike_stacks import AlikeStacks
from triage.analysis.live.detectors.async_error import AsyncError
from triage.analysis.live.detectors.behind import Behind
from triage.analysis.live.detectors.disagreement import Disagree
from triage.analysis.live.detectors.held_process import HeldProcess
from triage.analysis.live.detectors.odd_gpu import OddGpu
from triage.analysis.live.detectors.odd_stack import OddStack
from triage.analysis.live.detectors.odd_wait import OddWait
from triage.analysis.live.detectors.out_of_step import OutOfStep, SetUp
from triage.analysis.live.detectors.shortest_kernel import ShortestKernel
from triage.analysis.live.detectors.silent_process import SilentProcess
from triage.analysis.live.detectors.silent_sender import SilentSender
from triage.analysis.live.detectors.unresponsive import Unresponsive
from triage.domain.finding import Finding
from triage.domain.live.look import Tool

LIVE_DETECTORS: Final[tuple[LiveDetector, ...]] = (
    OddStack(),
    SilentProcess(),
    OddWait(),
    AlikeStacks(),
    HeldProcess(),
    ShortestKernel(),
    OddGpu(),
    SilentSender(),
    Unresponsive(),
    AsyncError(),
    Disagree("ras.disagree", Tool.RAS),
    Behind("ras.behind", Tool.RAS),
    Behind("comm_state.behind", Tool.COMM_STATE),
    Behind("replay.behind", Tool.REPLAY),
    Behind("trace_table.behind", Tool.TRACE_TABLE),
    OutOfStep(),
    SetUp(),
)


def find_look_claims(case: LiveCase) -> list[Finding]:
    """What the looks claim, the strongest first."""
    found = [finding for detector in LIVE_DETECTORS for finding in detector.run(case)]
    return sorted(found, key=lambda one: (-one.strength, one.detector, one.ranks, one.nodes))
