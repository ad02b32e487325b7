"""Who the members of communicators are: global rank, node, pid and GPU, in words and as a key."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.waits import Identity
from triage.analysis.placement.world_ranks import ProcessKey, find_world_ranks, process_key
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look
from triage.domain.live.process import Process
from triage.domain.report import Because


@dataclass(frozen=True)
class MembersOfJob:
    """The members of communicators in ``looks``, as ``case`` knows them."""

    case: LiveCase
    looks: tuple[Look, ...]

    @cached_property
    def look_of_member(self) -> dict[int, Look]:
        """By the identity of the value: the look that a member came from."""
        return {
            id(member): look
            for look in self.looks
            for communicator in look.communicators
            for member in communicator.ranks
        }

    @cached_property
    def rank_of_process(self) -> dict[ProcessKey, int]:
        """Global ranks by the communicator of all processes."""
        fleet = self.case.fleet

        def agrees(rank: int, host: str, pid: int) -> bool | None:
            node = fleet.node_of_address(host)
            if node is None:
                return None
            seated = fleet.rank_of_pid(node, pid)
            if seated is not None:
                return seated == rank
            home = fleet.node_of(rank)
            return None if home is None else home == node

        world = self.case.world_size or fleet.world_size
        return find_world_ranks(self.looks, world, agrees).by_process

    def rank_of(self, process: Process, look: Look) -> int | None:
        """The global rank of a process; None where nothing says it."""
        key = process_key(process)
        if process.rank is None and key is not None and key in self.rank_of_process:
            return self.rank_of_process[key]
        return self.case.rank_of(process, look)

    def identity_of(self, communicator: Communicator, member: CommunicatorRank) -> Identity:
        """One key for a member in all communicators."""
        rank = self.rank_of(*self.home_of(member))
        if rank is not None:
            return rank
        key = process_key(member.process)
        return key if key is not None else (communicator.hash, member.rank)

    def node_of(self, process: Process, look: Look) -> str | None:
        """The node of a process."""
        rank = self.rank_of(process, look)
        home = None if rank is None else self.case.fleet.node_of(rank)
        return home or self.case.own_node_of(process, look)

    def words(self, process: Process, look: Look) -> str:
        """``rank 5 (gpu-n01, pid 48206, GPU 5)``, as far as it is known."""
        rank = self.rank_of(process, look)
        parts = [self.node_of(process, look), *describe_machine(process)]
        inside = ", ".join(part for part in parts if part)
        return (
            f"{'a process' if rank is None else f'rank {rank}'}{f' ({inside})' if inside else ''}"
        )

    def home_of(self, member: CommunicatorRank) -> tuple[Process, Look]:
        """The process of a member, and the look that it came from."""
        return member.process, self.look_of_member.get(id(member), self.looks[0])

    def explain(self, detector: str, member: CommunicatorRank, text: str) -> Because:
        """A reason of a claim on a member: a clause about it, with its line."""
        process, look = self.home_of(member)
        return Because(detector, f"{self.words(process, look)} {text}", look.artifact, member.line)

    def claim(
        self,
        detector: str,
        ones: Sequence[tuple[Process, Look]],
        summary: str,
        *,
        convicts: bool,
        subject: str = "",
        **more: Any,  # noqa: ANN401 - other fields of the claim
    ) -> Finding:
        """A claim on processes: their ranks, else their nodes. Where neither is known of the first,
        ``subject`` or its process stands in front of ``summary``. Nobody unknown is convicted.
        """
        ranks, nodes = self.places(ones)
        if not any(self.places(ones[:1])):
            summary = f"{subject or self.words(*ones[0])} {summary}"
        return make_look_claim(
            detector, summary, ranks=ranks, nodes=nodes, convicts=convicts, **more
        )

    def places(self, ones: Iterable[tuple[Process, Look]]) -> tuple[list[int], list[str]]:
        """The global ranks of processes, and the nodes of those whose rank is not known."""
        ranks: list[int] = []
        nodes: list[str] = []
        for process, look in ones:
            rank = self.rank_of(process, look)
            node = None if rank is not None else self.node_of(process, look)
            if rank is not None:
                ranks.append(rank)
            elif node is not None and self.case.is_a_node(node):
                nodes.append(node)
        return list(dict.fromkeys(ranks)), list(dict.fromkeys(nodes))


def describe_machine(process: Process) -> list[str]:
    """The pid and the GPU of a process."""
    words = []
    if process.pid is not None:
        words.append(f"pid {process.pid}")
    if process.gpu is not None:
        other = process.nvml_gpu not in (None, process.gpu)
        words.append(f"GPU {process.gpu}{f' (NVML {process.nvml_gpu})' if other else ''}")
    return words
