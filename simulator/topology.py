"""Who is in which process group.

Ranks are laid out as Megatron and PyTorch's device mesh do: tensor parallel
ranks are neighbours, data parallel ranks are strided by tp, the pipeline is
outermost; an expert group is a run of data parallel indices. Group names are
one counter that every rank advances for every group, also for those it is not in.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simulator.slots import DESC, NUM_SLOTS, Slot
from triage.errors import UsageError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shape:
    """How many ranks, and how they are split. ``ep`` 1 means no expert parallelism."""

    ranks: int
    tp: int = 1
    pp: int = 1
    ep: int = 1

    def __post_init__(self) -> None:
        for name in ("ranks", "tp", "pp", "ep"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}: give 1 or more")
        if self.ranks % (self.tp * self.pp):
            near = max(self.ranks // (self.tp * self.pp), 1) * self.tp * self.pp
            raise UsageError(
                f"{self.ranks} ranks cannot be split into tp {self.tp} x pp {self.pp}: "
                f"give a multiple of {self.tp * self.pp} ranks, such as {near}"
            )
        if self.dp % self.ep:
            raise UsageError(
                f"ep {self.ep} does not divide the {self.dp} data parallel replicas "
                f"(ranks / tp / pp): give an ep that divides {self.dp}"
            )

    @property
    def dp(self) -> int:
        """The number of data parallel replicas."""
        return self.ranks // (self.tp * self.pp)

    def stage(self, rank: int) -> int:
        """The pipeline stage of ``rank``."""
        return rank // (self.dp * self.tp)

    def replica(self, rank: int) -> int:
        """The data parallel index of ``rank``."""
        return rank // self.tp % self.dp


@dataclass(slots=True)
class Topology:
    """All process groups of a job; a group of one rank does not exist.

    ``group_of[rank, slot]`` is the group's index or -1, ``group_rank_of`` the
    rank's place in it; ``members[group]`` are global ranks, ascending.
    """

    shape: Shape
    members: list[Ints] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    group_of: Ints = field(init=False)
    group_rank_of: Ints = field(init=False)

    def __post_init__(self) -> None:
        size = (self.shape.ranks, NUM_SLOTS)
        self.group_of = np.full(size, -1, np.int64)
        self.group_rank_of = np.full(size, -1, np.int64)
        grid = np.arange(self.shape.ranks).reshape(self.shape.pp, self.shape.dp, self.shape.tp)
        self.add(Slot.DEFAULT, grid.reshape(1, -1))
        self.add(Slot.TP, grid.reshape(-1, self.shape.tp))
        self.add(Slot.DP, self.data_parallel())
        self.add(Slot.PP, grid.transpose(1, 2, 0).reshape(-1, self.shape.pp))
        self.add(Slot.EP, self.data_parallel().reshape(-1, self.shape.ep))

    def data_parallel(self) -> Ints:
        """One row per set of ranks that hold the same weights."""
        shape = self.shape
        grid = np.arange(shape.ranks).reshape(shape.pp, shape.dp, shape.tp)
        return grid.transpose(0, 2, 1).reshape(-1, shape.dp)

    def add(self, slot: Slot, rows: Ints) -> None:
        """Create one group per row of global ranks, in order."""
        if rows.shape[1] < 2:
            return
        first = len(self.members)
        for row in rows:
            self.members.append(row)
            self.slots.append(slot)
        self.group_of[rows, slot] = (first + np.arange(len(rows)))[:, None]
        self.group_rank_of[rows, slot] = np.arange(rows.shape[1])[None, :]

    def peers(self, rank: int, slot: Slot) -> tuple[int, ...]:
        """The members of the group of ``rank`` in ``slot``, itself included; empty if none."""
        group = int(self.group_of[rank, slot])
        return () if group < 0 else tuple(self.members[group].tolist())

    def has(self, rank: int, slot: Slot) -> bool:
        """Whether ``rank`` is in a group of ``slot``."""
        return bool(self.group_of[rank, slot] >= 0)

    def name(self, group: int) -> str:
        """The counter that names the group."""
        return str(group)

    def desc(self, group: int) -> str:
        """The group's ``group_desc``."""
        return DESC[self.slots[group]]

    def by_desc(self) -> dict[str, list[list[int]]]:
        """Every group's global ranks, under its description."""
        found: dict[str, list[list[int]]] = {}
        for slot, ranks in zip(self.slots, self.members, strict=True):
            found.setdefault(DESC[slot], []).append(ranks.tolist())
        return found
