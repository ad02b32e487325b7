"""Which rank runs which program in one section of the job.

Ranks of one stage share one program; a fault gives a rank a program of its own.
A section is one step (with local SGD, one outer step).
"""

from dataclasses import dataclass, field

import numpy as np

from simulator.operation import Program
from simulator.program import NUM_VARIANTS, StepStyle, step_program
from simulator.slots import Slot
from simulator.topology import Ints, Topology


@dataclass(slots=True)
class Plan:
    """Programs, and the program of each rank.

    ``broken`` names operations that never end although all members agree: the
    n-th collective (from 0, in this section) of a group.
    """

    programs: list[Program]
    program_of: Ints
    broken: list[tuple[int, int]] = field(default_factory=list)

    def of(self, rank: int) -> Program:
        """The program that ``rank`` runs."""
        return self.programs[int(self.program_of[rank])]

    def give(self, rank: int, program: Program) -> None:
        """Let ``rank`` alone run ``program``."""
        self.programs.append(program)
        self.program_of[rank] = len(self.programs) - 1

    def copy(self) -> "Plan":
        """A plan that can be changed without touching this one."""
        return Plan(list(self.programs), self.program_of.copy(), list(self.broken))


def normal_plan(topology: Topology, style: StepStyle) -> Plan:
    """What all ranks run in a step without a fault."""
    shape = topology.shape
    ranks = np.arange(shape.ranks)
    stages = ranks // (shape.dp * shape.tp)
    variants = np.maximum(topology.group_rank_of[:, Slot.EP], 0) % NUM_VARIANTS
    keys, program_of = np.unique(stages * NUM_VARIANTS + variants, return_inverse=True)
    programs = [
        step_program(shape, int(key) // NUM_VARIANTS, int(key) % NUM_VARIANTS, style)
        for key in keys
    ]
    return Plan(programs, program_of.astype(np.int64))
