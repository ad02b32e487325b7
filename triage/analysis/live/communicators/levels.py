"""How far the members of communicators came, in each operation in which they differ.

Nobody finishes a collective that needs all members before all have issued it. So in one
communicator, who launched fewer operations of a kind is waited for by all who launched more. A
rank that does not answer is waited for by all: it counts as behind everybody.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from triage.domain.live.communicator import Communicator, CommunicatorRank, Presence

Identity = Hashable
"""Who a member of a communicator is in all of them: its world rank, or its process and GPU."""

IdentityOf = Callable[[Communicator, CommunicatorRank], Identity]

# Names of what is compared besides operations.
ABSENT: Final = "answer"
INIT: Final = "init"
_SILENT: Final = frozenset({Presence.DEAD, Presence.UNRESPONSIVE})


@dataclass(frozen=True, slots=True)
class RestOfCommunicator:
    """All members that a tool does not list."""

    hash: int


@dataclass(frozen=True, slots=True)
class Levels:
    """The members of one communicator by how many ``operation`` they have issued.

    ``identities``, ``counts`` and ``members`` are in the order of the counts, the lowest first;
    there are at least two different counts. ``completed`` is whether completions are counted.
    ``weights`` is for how many ranks each stands.
    """

    communicator: Communicator
    operation: str
    identities: tuple[Identity, ...]
    counts: tuple[int, ...]
    members: tuple[CommunicatorRank, ...]
    weights: tuple[int, ...]
    completed: bool = False


def find_levels(communicators: Iterable[Communicator], identity_of: IdentityOf) -> Iterator[Levels]:
    """What members of each communicator differ in; nothing where all are alike."""
    for communicator in communicators:
        launched = _count_by_name(communicator, completed=False)
        compared = [(launched | _compare_answers(communicator), False)]
        if not any(map(_is_different, launched.values())):
            # Else that is why members complete less.
            compared.append((_count_by_name(communicator, completed=True), True))
        for counted, completed in compared:
            for name, by_rank in counted.items():
                if _is_different(by_rank):
                    yield _order_levels(communicator, name, by_rank, identity_of, completed)


def _is_different(by_rank: Mapping[int, int]) -> bool:
    return len(set(by_rank.values())) > 1


_REST: Final = -1
"""The rank under which the members that a tool does not list stand."""


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


def _count_by_name(communicator: Communicator, *, completed: bool) -> dict[str, dict[int, int]]:
    """Operation -> rank -> how many it launched, or completed."""
    found: dict[str, dict[int, int]] = {}
    for member in _list_members(communicator):
        counts: Mapping[str, int] | None = member.completed if completed else member.launched
        if counts and member.presence not in _SILENT:
            for name, count in counts.items():
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


def _order_levels(
    communicator: Communicator,
    name: str,
    by_rank: Mapping[int, int],
    identity_of: IdentityOf,
    completed: bool,
) -> Levels:
    """The members that ``by_rank`` counts, the lowest first."""
    counted = [member for member in _list_members(communicator) if member.rank in by_rank]
    members = sorted(counted, key=lambda member: (by_rank[member.rank], member.rank))
    is_rest = [member is communicator.rest for member in members]
    rest, weight = RestOfCommunicator(communicator.hash), max(_count_unlisted(communicator), 1)
    return Levels(
        communicator,
        name,
        tuple(
            rest if apart else identity_of(communicator, member)
            for member, apart in zip(members, is_rest, strict=True)
        ),
        tuple(by_rank[member.rank] for member in members),
        tuple(members),
        tuple(weight if apart else 1 for apart in is_rest),
        completed,
    )


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
