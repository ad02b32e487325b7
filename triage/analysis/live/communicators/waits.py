"""The ends of the waits between ranks, over all communicators together.

Nobody finishes a collective that needs all members before all have issued it. So in one
communicator, who launched fewer operations of a kind is waited for by all who launched more. A
rank that does not answer is waited for by all: it counts as behind everybody.

A rank that is behind in one communicator may itself wait for a rank that is behind in another:
a chain over tensor, data and pipeline groups. Its end is the rank that waits for nobody.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.placement.world_ranks import ProcessKey, find_world_ranks, process_key
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator, CommunicatorRank, Presence
from triage.domain.live.look import Look
from triage.domain.live.process import Process
from triage.domain.report import Because

Identity = Hashable
"""Who a member of a communicator is in all of them: its world rank, or its process and GPU."""

IdentityOf = Callable[[Communicator, CommunicatorRank], Identity]

# Names of what is compared besides operations.
ABSENT: Final = "answer"
INIT: Final = "init"
_SILENT: Final = frozenset({Presence.DEAD, Presence.UNRESPONSIVE})
# The ends of which it is counted who waits for them: a real hang has a few.
MAX_ENDS: Final = 32


@dataclass(frozen=True, slots=True)
class _RestOfCommunicator:
    """The identity of all members that a tool does not list."""

    hash: int


@dataclass(frozen=True, slots=True)
class _Level:
    """All who came as far as ``count`` in one comparison of a communicator, or further."""

    comparison: int
    count: int


@dataclass(frozen=True, slots=True)
class Lag:
    """A member behind in one operation: it issued ``count``, ``ahead`` others up to ``most``."""

    communicator: Communicator
    member: CommunicatorRank
    operation: str
    count: int
    most: int
    ahead: int


@dataclass(frozen=True, slots=True)
class EndOfWaits:
    """A member that others wait for and that waits for nobody.

    ``lags`` are what it is behind in, that with most others first; ``waiting`` is how many ranks
    wait for it, directly or behind others that do.
    """

    identity: Identity
    lags: tuple[Lag, ...]
    waiting: int


def find_waits(
    communicators: Iterable[Communicator], identity_of: IdentityOf
) -> tuple[EndOfWaits, ...]:
    """The ends of waits at one moment, 32 at most, those with most waiting ranks first.

    ``identity_of`` says who a member is in all communicators. Ranks that wait in a circle, or
    behind one, have no end.
    """
    graph = _Graph(identity_of)
    for communicator in communicators:
        graph.add_communicator(communicator)
    ends = [
        one for one in graph.waited_by if one not in graph.waits and not isinstance(one, _Level)
    ]
    for end in ends:
        graph.lags[end].sort(key=lambda lag: (-lag.ahead, -lag.communicator.size, lag.operation))
    most = {end: max((lag.ahead for lag in graph.lags[end]), default=0) for end in ends}
    ends.sort(key=lambda end: (-most[end], repr(end)))
    found = [
        EndOfWaits(end, tuple(graph.lags[end]), graph.count_waiting_behind(end))
        for end in ends[:MAX_ENDS]
    ]
    return tuple(sorted(found, key=lambda end: (-end.waiting, repr(end.identity))))


@dataclass(slots=True)
class _Graph:
    """Who waits for whom: ``waited_by`` are the edges, to identities and through levels."""

    identity_of: IdentityOf
    waited_by: dict[Identity, list[Identity]] = field(default_factory=lambda: defaultdict(list))
    waits: set[Identity] = field(default_factory=set)
    lags: dict[Identity, list[Lag]] = field(default_factory=lambda: defaultdict(list))
    weights: dict[Identity, int] = field(default_factory=dict)
    """For how many ranks an identity stands, where these are more than one."""
    num_comparisons: int = 0

    def add_communicator(self, one: Communicator) -> None:
        """What its members differ in: who is behind in an operation is waited for by the next
        level, and so by all above.
        """
        for operation, by_rank in (_count_launched(one) | _compare_answers(one)).items():
            least, most = (pick(by_rank.values(), default=0) for pick in (min, max))
            if least == most:
                continue
            self.num_comparisons += 1
            by_count: dict[int, list[CommunicatorRank]] = defaultdict(list)
            for member in _list_members(one):
                if member.rank in by_rank:
                    by_count[by_rank[member.rank]].append(member)
            above: _Level | None = None
            ahead = here = 0
            for count in sorted(by_count, reverse=True):
                level = _Level(self.num_comparisons, count)
                ahead, here = ahead + here, 0
                if above is not None:
                    self.waited_by[level].append(above)
                for member in by_count[count]:
                    is_rest = member is one.rest
                    who: Identity = _RestOfCommunicator(one.hash)
                    who = who if is_rest else self.identity_of(one, member)
                    weight = max(one.size - len(one.ranks), 1) if is_rest else 1
                    here += weight
                    self.weights[who] = max(weight, self.weights.get(who, 0))
                    self.waited_by[level].append(who)
                    if count > least:
                        self.waits.add(who)
                    if above is None:
                        continue
                    self.waited_by[who].append(above)
                    if not is_rest:
                        self.lags[who].append(Lag(one, member, operation, count, most, ahead))
                above = level

    def count_waiting_behind(self, end: Identity) -> int:
        """How many ranks wait for ``end``, or behind others that do."""
        seen, todo = {end}, [end]
        while todo:
            for one in self.waited_by.get(todo.pop(), ()):
                if one not in seen:
                    seen.add(one)
                    todo.append(one)
        waiting = seen - {end}
        return sum(self.weights.get(one, 1) for one in waiting if not isinstance(one, _Level))


def _compare_answers(communicator: Communicator) -> dict[str, dict[int, int]]:
    """What is compared besides operations -> rank -> how far it came."""
    found: dict[str, dict[int, int]] = {}
    silent = {one.rank for one in communicator.ranks if one.presence in _SILENT}
    if silent:
        others = {one.rank: 1 for one in communicator.ranks if one.presence is Presence.ANSWERED}
        found[ABSENT] = {**others, **dict.fromkeys(silent, 0)}
    begun = {
        one.rank: int(one.status != "init")
        for one in _list_members(communicator)
        if one.status in ("init", "running") and one.presence is Presence.ANSWERED
    }
    return found | {INIT: begun}


def _count_launched(communicator: Communicator) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for member in _list_members(communicator):
        if member.launched and member.presence not in _SILENT:
            for name, count in member.launched.items():
                found.setdefault(name, {})[member.rank] = count
    return found


def _list_members(communicator: Communicator) -> Iterator[CommunicatorRank]:
    yield from communicator.ranks
    if communicator.rest is not None:
        yield communicator.rest


# NCCL's operations as NCCL writes them.
_NAMES: Final = {
    "allreduce": "AllReduce",
    "allgather": "AllGather",
    "reducescatter": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "alltoall": "AllToAll",
    "send": "Send",
    "recv": "Recv",
    "sendrecv": "SendRecv",
    "all": "operations",
}


def normalize_operation(operation: str) -> str:
    """``AllReduce`` of ``allreduce``; any other word as it is."""
    return _NAMES.get(operation, operation)


# Who the members of communicators are: global rank, node, pid and GPU, in words and as a key.


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
