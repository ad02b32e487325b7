"""The ends of the waits between ranks, over all communicators together.

Nobody finishes a collective that needs all members before all have issued it. So in one
communicator, who launched fewer operations of a kind is waited for by all who launched more. A
rank that does not answer is waited for by all: it counts as behind everybody.

A rank that is behind in one communicator may itself wait for a rank that is behind in another:
a chain over tensor, data and pipeline groups. Its end is the rank that waits for nobody.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from triage.domain.live.communicator import Communicator, CommunicatorRank, Presence

Identity = Hashable
"""Who a member of a communicator is in all of them: its world rank, or its process and GPU."""

IdentityOf = Callable[[Communicator, CommunicatorRank], Identity]

# Names of what is compared besides operations.
ABSENT: Final = "answer"
INIT: Final = "init"
_SILENT: Final = frozenset({Presence.DEAD, Presence.UNRESPONSIVE})
# The ends of which it is counted who waits for them: a real hang has a few.
MAX_ENDS: Final = 32
# The rank under which the members that a tool does not list stand.
_REST: Final = -1


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
    most = {end: max((lag.ahead for lag in graph.lags[end]), default=0) for end in ends}
    ends.sort(key=lambda end: (-most[end], repr(end)))
    found = [
        EndOfWaits(
            end,
            tuple(
                sorted(
                    graph.lags[end],
                    key=lambda lag: (-lag.ahead, -lag.communicator.size, lag.operation),
                )
            ),
            graph.count_waiting_behind(end),
        )
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
                    who = (
                        _RestOfCommunicator(one.hash) if is_rest else self.identity_of(one, member)
                    )
                    weight = max(_count_unlisted(one), 1) if is_rest else 1
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
        if _count_unlisted(communicator) > 0:
            others[_REST] = 1
        found[ABSENT] = {**others, **dict.fromkeys(silent, 0)}
    begun = {
        one.rank: int(one.status != "init")
        for one in _list_members(communicator)
        if one.status in ("init", "running") and one.presence is Presence.ANSWERED
    }
    return found | {INIT: begun}


def _count_launched(communicator: Communicator) -> dict[str, dict[int, int]]:
    """Operation -> rank -> how many it launched."""
    found: dict[str, dict[int, int]] = {}
    for member in _list_members(communicator):
        if member.launched and member.presence not in _SILENT:
            for name, count in member.launched.items():
                found.setdefault(name, {})[member.rank] = count
    return found


def _list_members(communicator: Communicator) -> Iterator[CommunicatorRank]:
    """The listed members, then all others as one."""
    yield from communicator.ranks
    if communicator.rest is not None:
        yield communicator.rest


def _count_unlisted(communicator: Communicator) -> int:
    """How many members a tool speaks of together."""
    return 0 if communicator.rest is None else communicator.size - len(communicator.ranks)


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
