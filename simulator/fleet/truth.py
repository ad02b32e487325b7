"""What only the simulator knows of a fleet: tests and benchmarks read it, no answer does."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.record.columns import FleetRecord


class FaultSource(StrEnum):
    """Why a fault came when it did."""

    OWN = "own"  # by itself, at the rate of the node
    AGAIN = "again"  # the repair before it did not take
    MOVED = "moved"  # a GPU came from another node, with its fault
    BURST = "burst"  # one event befell several nodes


@dataclass(frozen=True, slots=True)
class TrueFault:
    """A fault; days since the record's start, before it (< 0) and after its end included.

    ``outage`` is its row in the record's outages. ``again_of`` is the place, among the faults, of
    the one that was not repaired; None where that was before the record. ``burst`` counts the
    events of the fleet. ``part`` is the serial of the bad GPU, ``slot`` where it sat.
    """

    outage: int
    node: str
    start_day: float
    end_day: float
    cause: OutageCause
    action: RepairAction
    took: bool
    source: FaultSource
    again_of: int | None = None
    burst: int | None = None
    part: str | None = None
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class PartMove:
    """A GPU with a fault that came from one node to another; days since the record's start."""

    part: str
    from_node: str
    from_slot: int
    out_day: float
    to_node: str
    to_slot: int
    in_day: float


class TrueStay(NamedTuple):
    """A GPU in a slot of a node, from a day to another; None: since before, or still."""

    part: str
    node: str
    slot: int
    from_day: float | None
    to_day: float | None


@dataclass(frozen=True, slots=True)
class SimulatedFleet:
    """A record and the truth behind it; ``culprits`` has one node or None per interruption.

    The rest is known of a fleet like a real one alone. ``special`` nodes are its front ends.
    ``stays`` are of all GPUs. ``renamed`` are (day, node, node) whose names were exchanged;
    lemons are named as they are on the last day.
    """

    record: FleetRecord
    lemons: frozenset[str]
    bad_leaves: frozenset[str]
    culprits: tuple[str | None, ...]
    faults: tuple[TrueFault, ...] = ()
    moves: tuple[PartMove, ...] = ()
    stays: tuple[TrueStay, ...] = ()
    renamed: tuple[tuple[float, str, str], ...] = ()
    special: frozenset[str] = frozenset()
