"""The stage on which a fault is set: the job, its normal step, and who is meant."""

import random
from dataclasses import dataclass
from enum import StrEnum

from simulator.operation import Part, Program
from simulator.plan import Plan
from simulator.program import StepStyle
from simulator.slots import Slot
from simulator.topology import Topology
from triage.errors import UsageError


class Dumped(StrEnum):
    """When the dumps are taken."""

    AFTER = "after"
    LIVE = "live"
    TIMEOUT = "timeout"


class Strangers(StrEnum):
    """Files in the folder that do not belong to this run of the job."""

    NONE = "none"
    STALE = "stale"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Where:
    """The collective at which the fault was set: ``order`` counts from 0 in the last section.

    For a transfer ``order`` is -1.
    """

    group: int
    slot: Slot
    order: int
    op: str


@dataclass(slots=True)
class Fault:
    """What was done to the job, and what a good answer says about it."""

    plan: Plan
    culprits: tuple[int, ...]
    expect: str
    verdicts: tuple[str, ...]
    category: str
    also: tuple[str, ...] = ()
    possible: tuple[int, ...] = ()
    where: Where | None = None
    dumped: Dumped = Dumped.TIMEOUT
    without_dump: tuple[int, ...] = ()
    late_rank: int = -1
    all_late: bool = False
    """Whether every host is late at the start of every step."""
    slow_ranks: tuple[int, ...] = ()
    """Ranks whose devices compute more slowly."""
    slow_groups: tuple[int, ...] = ()
    """Groups whose operations take longer to transfer."""
    slow_from: float = 0.0
    """After which part of the simulated steps it begins."""
    strangers: Strangers = Strangers.NONE


@dataclass(slots=True)
class Scene:
    """A job about to run its last section; ``plan`` is a copy that the fault may change."""

    topology: Topology
    style: StepStyle
    plan: Plan
    asked: int | None
    chance: random.Random

    def culprit(self) -> int:
        """The rank asked for, else one by chance."""
        if self.asked is not None:
            return self.asked
        return self.chance.randrange(self.topology.shape.ranks)

    def slot(self, rank: int) -> Slot:
        """The smallest kind of group in which ``rank`` runs collectives."""
        for slot in (Slot.TP, Slot.DP):
            if self.topology.has(rank, slot):
                return slot
        return Slot.DEFAULT

    def group(self, rank: int, slot: Slot) -> int:
        """The group that ``rank`` has in ``slot``."""
        return int(self.topology.group_of[rank, slot])

    def where(self, rank: int, at: int) -> Where:
        """The ``at``-th operation of the rank's program as a collective of its group."""
        program = self.plan.of(rank)
        op = program[at]
        order = -1
        if not op.is_p2p and op.part is Part.ALONE:
            order = len(collectives(program[:at], op.slot))
        return Where(self.group(rank, op.slot), op.slot, order, op.name)

    def one_of(self, choices: list[int], lacking: str) -> int:
        """One of ``choices`` by chance; ``lacking`` says what to give when there is none."""
        if not choices:
            raise UsageError(lacking)
        return self.chance.choice(choices)


def collectives(program: Program, slot: Slot) -> list[int]:
    """The places of the collectives that ``program`` runs in ``slot``."""
    return [
        at
        for at, op in enumerate(program)
        if op.slot == slot and not op.is_p2p and op.part is Part.ALONE
    ]


def starts(program: Program) -> list[int]:
    """The places at which a host can stop without leaving a coalesced block half built."""
    return [at for at in range(len(program)) if at == 0 or program[at - 1].part is not Part.MEMBER]
