"""All detectors, in the order in which they are heard on one end of the graph."""

from collections.abc import Iterator
from typing import Protocol

from triage.analysis.case import Case
from triage.analysis.detectors.device_stall import DeviceStall
from triage.analysis.detectors.fabric_stall import FabricStall
from triage.analysis.detectors.host_stall import HostStall
from triage.analysis.detectors.lone_witness import LoneWitness
from triage.analysis.detectors.mismatch import Mismatch
from triage.analysis.detectors.no_dump import NoDump
from triage.analysis.detectors.order_cycle import OrderCycle
from triage.analysis.detectors.p2p import P2pMismatch
from triage.analysis.detectors.setup_hang import SetupHang
from triage.analysis.detectors.straggler import Straggler
from triage.domain.category import Category
from triage.domain.finding import Finding

__all__ = ["DETECTORS", "Detector"]


class Detector(Protocol):
    """One way of looking at a case."""

    name: str
    explains: frozenset[Category]
    """The causes that can make what it sees."""
    runs_in_flight: bool
    """Whether it has something to say where what is unfinished was only just issued."""
    is_gap: bool
    """Whether it speaks of missing files, so that any claim from records comes first."""

    def run(self, case: Case) -> Iterator[Finding]:
        """Claims, each with its reasons; none when there is nothing to say."""
        ...


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
)
