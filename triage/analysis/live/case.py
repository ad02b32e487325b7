"""The looks at one job, with the rank and node of each process where anything says them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import Any, Final, Protocol

from triage.analysis.live.stacks.host_activity import hosts_move, ranks_asleep
from triage.analysis.live.stacks.picture import StackPicture, picture_of
from triage.analysis.placement.host_names import NamesInPaths
from triage.analysis.placement.identity import JobPlacement
from triage.domain.finding import Finding
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process

__all__ = ["LiveCase", "LiveDetector"]

STACKS: Final = frozenset(
    {Tool.PY_SPY, Tool.FAULTHANDLER, Tool.TRACEBACK, Tool.GDB, Tool.CUDA_GDB, Tool.PROC}
)
# "python -u pretrain.py --local_rank=1 --config ..."
LOCAL_RANK: Final = re.compile(r"\s--local[_-]rank[= ](\d{1,4})(?:\s|$)")
COMMAND_CHARS: Final = 8192


def is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class LiveCase:
    """``looks`` in the order of their artifacts; ``fleet`` says who sits where.

    ``world_size`` is None where nothing says it. ``dumps`` is whether flight-recorder dumps lie
    beside the looks. ``stopped`` is whether dumps or a watchdog show that the job stands,
    ``moving`` whether dumps show that it runs.
    """

    looks: Sequence[Look]
    fleet: JobPlacement
    world_size: int | None = None
    dumps: bool = False
    stopped: bool = False
    moving: bool = False

    def node_of(self, process: Process, look: Look) -> str | None:
        """The node of a process: of its rank, else of its host or address, else of the file."""
        rank = self.rank_of(process, look)
        home = None if rank is None else self.fleet.node_of(rank)
        return home or self.own_node_of(process, look)

    def own_node_of(self, process: Process, look: Look) -> str | None:
        """The node that the tool's own words or the file's folder say."""
        for said in (process.node, process.host):
            if said is not None and (node := self.fleet.node_of_address(said)) is not None:
                return node
        named = process.node or look.node or process.host
        return named or self.homes.of(look.artifact)

    def is_a_node(self, name: str) -> bool:
        """Whether a name may stand for a node: an address does so only where no node is known by
        name, for else none of them is that of the address.
        """
        return name in self.fleet.seated or not (self.fleet.seated and is_address(name))

    @cached_property
    def homes(self) -> NamesInPaths:
        """The nodes that names of files tell."""
        return NamesInPaths(self.fleet.seated)

    def rank_of(self, process: Process, look: Look) -> int | None:
        """The global rank of a process: stated, else by its pid or GPU on its node."""
        if process.rank is not None:
            return process.rank
        node = self.own_node_of(process, look)
        if node is None:
            return None
        if process.pid is not None:
            rank = self.fleet.rank_of_pid(node, process.pid)
            if rank is None:
                rank = self.rank_by_pid.get((node, process.pid))
            if rank is not None:
                return rank
        local = LOCAL_RANK.search((process.command or "")[:COMMAND_CHARS])
        return self.fleet.rank_of_local(node, int(local[1])) if local is not None else None

    @cached_property
    def rank_by_pid(self) -> dict[tuple[str, int], int]:
        """Ranks by node and pid, as looks themselves state both."""
        found: dict[tuple[str, int], int] = {}
        for look in self.looks:
            processes = [one.process for one in look.stacks]
            processes += [one.process for one in look.replies]
            for process in processes:
                node = self.own_node_of(process, look)
                if process.rank is not None and process.pid is not None and node is not None:
                    found.setdefault((node, process.pid), process.rank)
        return found

    @cached_property
    def picture(self) -> StackPicture:
        """Where each rank stands."""
        return picture_of(self.looks, self)

    @cached_property
    def memo(self) -> dict[tuple[str, Tool], Any]:
        """What several detectors ask of the looks of one tool, once it was found."""
        return {}

    @cached_property
    def hosts_move(self) -> bool:
        """Whether the main thread of every rank went to sleep and on again between two looks."""
        return hosts_move(self.looks)

    @cached_property
    def ranks_asleep(self) -> frozenset[int]:
        """The ranks whose main thread did not wake once between two looks."""
        return ranks_asleep(self.looks)

    @property
    def stacks(self) -> list[Look]:
        """The looks that hold stacks."""
        return [look for look in self.looks if look.tool in STACKS or look.stacks]


class LiveDetector(Protocol):
    """One way of judging looks."""

    name: str

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """Claims, each with its reasons; none when there is nothing to say."""
        ...
