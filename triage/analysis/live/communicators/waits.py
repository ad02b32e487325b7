"""The ends of the waits between ranks, over all communicators together.

A rank that is behind in one communicator may itself wait for a rank that is behind in another:
a chain over tensor, data and pipeline groups. Its end is the rank that waits for nobody.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from triage.analysis.live.communicators.levels import (
    Identity,
    IdentityOf,
    Levels,
    RestOfCommunicator,
    find_levels,
)
from triage.domain.live.communicator import Communicator, CommunicatorRank, Waiting

# The ends of which it is counted who waits for them: a real hang has a few.
MAX_ENDS: Final = 32


@dataclass(frozen=True, slots=True)
class Lag:
    """A member behind in one operation: it issued ``count``, ``ahead`` others up to ``most``."""

    communicator: Communicator
    member: CommunicatorRank
    operation: str
    count: int
    most: int
    ahead: int
    completed: bool = False


@dataclass(frozen=True, slots=True)
class EndOfWaits:
    """A member that others wait for and that waits for nobody.

    ``lags`` are what it is behind in, that with most others first; ``waiting`` is how many ranks
    wait for it, directly or behind others that do.
    """

    identity: Identity
    lags: tuple[Lag, ...]
    waiting: int


@dataclass(slots=True)
class _Graph:
    """``groups`` in which somebody is behind; ``at`` says where each identity stands in them."""

    groups: list[Levels]
    at: dict[Identity, list[tuple[int, int]]] = field(default_factory=dict)
    """Identity -> (group, its place there)."""
    peers: dict[Identity, set[Identity]] = field(default_factory=dict)
    """Identity -> those that wait for it in an operation between two."""
    waits_for_peer: set[Identity] = field(default_factory=set)
    weights: dict[Identity, int] = field(default_factory=dict)
    before: list[list[int]] = field(default_factory=list)
    """By group: how many ranks stand before each place."""

    def __post_init__(self) -> None:
        for number, levels in enumerate(self.groups):
            self.before.append([0, *accumulate(levels.weights)])
            for place, identity in enumerate(levels.identities):
                self.at.setdefault(identity, []).append((number, place))
                self.weights[identity] = max(levels.weights[place], self.weights.get(identity, 0))

    def places(self, identity: Identity) -> Iterator[tuple[Levels, int]]:
        """The groups of a member, and its place in each."""
        for number, place in self.at.get(identity, ()):
            yield self.groups[number], place

    def waits(self, identity: Identity) -> bool:
        """Whether a member waits for another."""
        return identity in self.waits_for_peer or any(
            levels.counts[place] > levels.counts[0] for levels, place in self.places(identity)
        )

    def is_waited_for(self, identity: Identity) -> bool:
        """Whether another identity waits for it."""
        return bool(self.peers.get(identity)) or any(
            levels.counts[place] < levels.counts[-1] for levels, place in self.places(identity)
        )


def find_waits(
    communicators: Iterable[Communicator], identity_of: IdentityOf, waiting: Sequence[Waiting] = ()
) -> tuple[EndOfWaits, ...]:
    """The ends of waits at one moment, 32 at most, those with most waiting ranks first.

    ``identity_of`` says who a member is in all communicators; ``waiting`` are single operations in
    flight that a tool saw. Ranks that wait in a circle, or behind one, have no end.
    """
    communicators = list(communicators)
    graph = _Graph(list(find_levels(communicators, identity_of)))
    devices = _add_waiting(graph, communicators, identity_of, waiting)
    identities = graph.at.keys() | graph.peers.keys() | graph.waits_for_peer | devices
    ends = [
        identity
        for identity in identities
        if (graph.is_waited_for(identity) or identity in devices) and not graph.waits(identity)
    ]
    lags = {identity: _find_lags(graph, identity) for identity in ends}
    most = {end: max((lag.ahead for lag in lags[end]), default=0) for end in ends}
    ends.sort(key=lambda end: (-most[end], repr(end)))
    found = [
        EndOfWaits(
            identity,
            lags[identity],
            sum(graph.weights.get(one, 1) for one in _collect_waiting_behind(graph, identity)),
        )
        for identity in ends[:MAX_ENDS]
    ]
    found.sort(key=lambda end: (-end.waiting, repr(end.identity)))
    return tuple(found)


def _add_waiting(
    graph: _Graph,
    communicators: Sequence[Communicator],
    identity_of: IdentityOf,
    waiting: Sequence[Waiting],
) -> set[Identity]:
    """Put single operations into the graph; back come those that wait for their own GPU."""
    if not waiting:
        return set()
    known: dict[tuple[int, int], Identity] = {}
    sizes = {one.hash: one for one in communicators}
    for communicator in communicators:
        for member in communicator.ranks:
            known[communicator.hash, member.rank] = identity_of(communicator, member)
    devices: set[Identity] = set()
    for one in waiting:
        place = sizes.get(one.hash) or Communicator(one.hash, 0, ())
        listed = (one.hash, one.rank)
        me = (
            known[listed]
            if listed in known
            else identity_of(place, CommunicatorRank(one.rank, one.process))
        )
        if one.peer is None:
            devices.add(me)
            continue
        other = known.get((one.hash, one.peer), (one.hash, one.peer))
        if other != me:
            graph.peers.setdefault(other, set()).add(me)
            graph.waits_for_peer.add(me)
    return devices


def _find_lags(graph: _Graph, identity: Identity) -> tuple[Lag, ...]:
    """What a member is behind in; that in which most others are ahead first."""
    if isinstance(identity, RestOfCommunicator):
        return ()
    found = []
    for number, place in graph.at.get(identity, ()):
        levels = graph.groups[number]
        count, most = levels.counts[place], levels.counts[-1]
        if count < most:
            before = graph.before[number]
            ahead = before[-1] - before[bisect_right(levels.counts, count)]
            member, name = levels.members[place], levels.operation
            lag = Lag(levels.communicator, member, name, count, most, ahead, levels.completed)
            found.append(lag)
    found.sort(key=lambda lag: (-lag.ahead, -lag.communicator.size, lag.operation))
    return tuple(found)


def _collect_waiting_behind(graph: _Graph, *ends: Identity) -> set[Identity]:
    """All that wait for ``ends``, or behind others that do; each group is walked once."""
    seen: set[Identity] = set(ends)
    todo = list(ends)
    above = [len(levels.identities) for levels in graph.groups]
    while todo:
        identity = todo.pop()
        new: list[Identity] = list(graph.peers.get(identity, ()))
        for number, place in graph.at.get(identity, ()):
            levels = graph.groups[number]
            first = bisect_right(levels.counts, levels.counts[place])
            new += levels.identities[first : above[number]]
            above[number] = min(above[number], first)
        for one in new:
            if one not in seen:
                seen.add(one)
                todo.append(one)
    return seen.difference(ends)
