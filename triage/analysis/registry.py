"""All detectors, in the order in which they are heard on one end of the graph."""

from dataclasses import replace

from triage.analysis.detectors.device_stall import DeviceStall
from triage.analysis.detectors.fabric_stall import FabricStall
from triage.analysis.detectors.host_stall import HostStall
from triage.analysis.detectors.lone_witness import LoneWitness
from triage.analysis.detectors.mismatch import Mismatch
from triage.analysis.detectors.no_dump import GAP_STRENGTH, NoDump
from triage.analysis.detectors.order_cycle import OrderCycle
from triage.analysis.detectors.p2p import P2pMismatch
from triage.analysis.detectors.setup_hang import SetupHang
from triage.analysis.detectors.slow_device import SlowDevice
from triage.analysis.detectors.straggler import Straggler
from triage.analysis.waiting.case import Case, Detector
from triage.domain.category import Role, VerdictKind
from triage.domain.finding import Finding

DETECTORS: tuple[Detector, ...] = (
    SetupHang(),
    HostStall(),
    Mismatch(),
    P2pMismatch(),
    OrderCycle(),
    DeviceStall(),
    LoneWitness(),
    NoDump(),
    FabricStall(),
    Straggler(),
    SlowDevice(),
)


def find_detector_claims(case: Case) -> list[Finding]:
    """What the detectors claim: one per end of the graph, in their order; strongest first."""
    claims: list[Finding] = []
    claimed: set[int] = set()
    for detector in DETECTORS:
        if case.in_flight and not detector.runs_in_flight:
            continue
        findings = [
            one if one.explained_by else replace(one, explained_by=detector.explains)
            for one in detector.run(case)
        ]
        if detector.is_gap and claimed:
            # A missing file where the records show a fault of their own: no second one.
            findings = [
                replace(
                    one, kind=VerdictKind.INCONCLUSIVE, role=Role.POSSIBLE, strength=GAP_STRENGTH
                )
                for one in findings
            ]
        claims += [f for f in findings if f.end is None or f.end not in claimed]
        claimed |= {finding.end for finding in findings if finding.end is not None}
    order = {detector.name: place for place, detector in enumerate(DETECTORS)}
    return sorted(
        claims, key=lambda f: (-f.strength, -(f.late_ms or 0), order[f.detector], f.ranks)
    )
