"""Single transfers in flight, and where their waits end.

A receive that got nothing waits for its sender; a send without a buffer for its receiver; a step
whose data its own GPU has not produced or taken for that GPU. Who is waited for and waits for
nobody itself is the end.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.domain.live.communicator import Waiting, WaitReason
from triage.domain.live.look import Look, Tool

__all__ = ["EndOfTransfers", "MemberKey", "TransferPicture", "transfers_of"]

TOOLS: Final = frozenset({Tool.COMM_STATE, Tool.PROXY_TRACE, Tool.PROFILER})

MemberKey = tuple[int, int]
"""The number of a communicator, and a rank in it."""


@dataclass(frozen=True, slots=True)
class EndOfTransfers:
    """``member`` is waited for by ``waiting``, and waits for no peer. ``seen`` is whether a tool
    looked at it; then ``own`` are its waits for its own GPU.
    """

    member: MemberKey
    waiting: tuple[tuple[Waiting, Look], ...]
    seen: bool
    own: tuple[tuple[Waiting, Look], ...] = ()


@dataclass(frozen=True, slots=True)
class TransferPicture:
    """``ends`` with most waits first. ``on_wire`` and ``on_device`` are all waits of these kinds.

    ``moved``: transfers of a member changed between two looks; ``stands``: none did, and all
    members were looked at twice.
    """

    ends: tuple[EndOfTransfers, ...] = ()
    on_wire: tuple[tuple[Waiting, Look], ...] = ()
    on_device: tuple[tuple[Waiting, Look], ...] = ()
    moved: bool = False
    stands: bool = False


@dataclass(slots=True)
class WaitsOfMember:
    """What the last looks at one member show; tools are compared with themselves alone."""

    last: list[tuple[Waiting, Look]] = field(default_factory=list)
    twice: bool = False
    changed: bool = False


def signs(waits: Iterable[tuple[Waiting, Look]]) -> frozenset[tuple[object, ...]]:
    """What is the same as long as nothing moves."""
    return frozenset((one.operation, one.reason, one.peer) for one, _ in waits)


def transfers_of(looks: Sequence[Look]) -> TransferPicture:
    """The ends of all waits that the last look at each member shows."""
    members = by_member([look for look in looks if look.tool in TOOLS])
    waits = [pair for member in sorted(members) for pair in members[member].last]
    if not waits:
        return TransferPicture()
    peers: dict[MemberKey, list[tuple[Waiting, Look]]] = defaultdict(list)
    busy: set[MemberKey] = set()
    for one, look in waits:
        if one.peer is None:
            continue
        busy.add((one.hash, one.rank))
        if one.reason is WaitReason.PEER:
            peers[one.hash, one.peer].append((one, look))
    ends = [
        EndOfTransfers(
            member, tuple(peers[member]), member in members, tuple(last_of(members, member))
        )
        for member in sorted(peers)
        if member not in busy
    ]
    ends.sort(key=lambda end: (-len(end.waiting), end.member))
    return TransferPicture(
        tuple(ends),
        tuple(pair for pair in waits if pair[0].reason is WaitReason.WIRE),
        tuple(pair for pair in waits if pair[0].reason is WaitReason.OWN_DEVICE),
        moved=any(one.changed for one in members.values()),
        stands=all(one.twice and not one.changed for one in members.values() if one.last),
    )


def last_of(
    members: dict[MemberKey, WaitsOfMember], member: MemberKey
) -> list[tuple[Waiting, Look]]:
    return members[member].last if member in members else []


def by_member(looks: Sequence[Look]) -> dict[MemberKey, WaitsOfMember]:
    """The members that tools looked at, in the order of time, else of the names of files."""
    shown: dict[tuple[Tool, MemberKey], list[list[tuple[Waiting, Look]]]] = {}
    for look in sorted(looks, key=lambda one: (one.stamp.wall_ns or 0, one.artifact)):
        here: dict[MemberKey, list[tuple[Waiting, Look]]] = {
            (one.hash, member.rank): [] for one in look.communicators for member in one.ranks
        }
        for one in look.waiting:
            here.setdefault((one.hash, one.rank), []).append((one, look))
        for key, waits in here.items():
            shown.setdefault((look.tool, key), []).append(waits)
    found: dict[MemberKey, WaitsOfMember] = {}
    for (_, key), rounds in sorted(shown.items()):
        member = found.setdefault(key, WaitsOfMember())
        member.last += rounds[-1]
        if len(rounds) > 1:
            member.twice = True
            member.changed |= signs(rounds[-1]) != signs(rounds[-2])
    return found
