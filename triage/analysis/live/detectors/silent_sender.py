"""Silent sender: a rank whose peers' transfers wait for it, while it waits for no peer itself.

Where its own transfers wait for its GPU, that GPU has not produced what it is to send. A transfer
on the wire alone points at the network between two ranks, and accuses nobody.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.who import map_members
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Waiting, WaitReason
from triage.domain.live.look import Look, Tool
from triage.domain.report import Because

_NAME: Final = "transfers.silent_sender"
# A transfer of a job that runs waits too, for the blink of an eye.
_ONE_LOOK: Final = 0.5
_TWO_LOOKS: Final = 0.75
# Who was not looked at may itself wait for another one.
_UNSEEN: Final = 0.4
_UNSEEN_TWICE: Final = 0.55
_NOBODY: Final = 0.3
# Of more ends than this none is named.
_MAX_ENDS: Final = 2
_MAX_REASONS: Final = 4
_SECOND_LOOK: Final = "one look alone may be of a job that runs: take a second one 30 s later"


class SilentSender:
    """One finding for each end of the waits between transfers, else one on nobody.

    Silent: where transfers moved between two looks, and where all wait in a circle.
    """

    name = _NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings on ``case``."""
        picture = _collect_transfers(case.looks)
        if picture.moved:
            return
        if not picture.ends:
            yield from _find_direction_alone(case, picture)
        elif len(picture.ends) <= _MAX_ENDS:
            for end in picture.ends:
                yield _make_finding(case, end, picture)


# A receive that got nothing waits for its sender; a send without a buffer for its receiver; a step
# whose data its own GPU has not produced or taken for that GPU. Who is waited for and waits for
# nobody itself is the end.

_TOOLS: Final = frozenset({Tool.COMM_STATE, Tool.PROXY_TRACE, Tool.PROFILER})

_MemberKey = tuple[int, int]
"""The number of a communicator, and a rank in it."""


@dataclass(frozen=True, slots=True)
class _EndOfTransfers:
    """``member`` is waited for by ``waiting``, and waits for no peer. ``seen`` is whether a tool
    looked at it; then ``own`` are its waits for its own GPU.
    """

    member: _MemberKey
    waiting: tuple[tuple[Waiting, Look], ...]
    seen: bool
    own: tuple[tuple[Waiting, Look], ...] = ()


@dataclass(frozen=True, slots=True)
class _TransferPicture:
    """``ends`` with most waits first. ``on_wire`` and ``on_device`` are all waits of these kinds.

    ``moved``: transfers of a member changed between two looks; ``stands``: none did, and all
    members were looked at twice.
    """

    ends: tuple[_EndOfTransfers, ...] = ()
    on_wire: tuple[tuple[Waiting, Look], ...] = ()
    on_device: tuple[tuple[Waiting, Look], ...] = ()
    moved: bool = False
    stands: bool = False


@dataclass(slots=True)
class _WaitsOfMember:
    """What the last looks at one member show; tools are compared with themselves alone."""

    last: list[tuple[Waiting, Look]] = field(default_factory=list)
    twice: bool = False
    changed: bool = False


def _collect_signs(waits: Iterable[tuple[Waiting, Look]]) -> frozenset[tuple[object, ...]]:
    """What is the same as long as nothing moves."""
    return frozenset((one.operation, one.reason, one.peer) for one, _ in waits)


def _collect_transfers(looks: Sequence[Look]) -> _TransferPicture:
    """The ends of all waits that the last look at each member shows."""
    members = _group_by_member([look for look in looks if look.tool in _TOOLS])
    waits = [pair for member in sorted(members) for pair in members[member].last]
    if not waits:
        return _TransferPicture()
    peers: dict[_MemberKey, list[tuple[Waiting, Look]]] = defaultdict(list)
    busy: set[_MemberKey] = set()
    for one, look in waits:
        if one.peer is None:
            continue
        busy.add((one.hash, one.rank))
        if one.reason is WaitReason.PEER:
            peers[one.hash, one.peer].append((one, look))
    ends = [
        _EndOfTransfers(
            member,
            tuple(peers[member]),
            member in members,
            tuple(members[member].last) if member in members else (),
        )
        for member in sorted(peers)
        if member not in busy
    ]
    ends.sort(key=lambda end: (-len(end.waiting), end.member))
    return _TransferPicture(
        tuple(ends),
        tuple(pair for pair in waits if pair[0].reason is WaitReason.WIRE),
        tuple(pair for pair in waits if pair[0].reason is WaitReason.OWN_DEVICE),
        moved=any(one.changed for one in members.values()),
        stands=all(one.twice and not one.changed for one in members.values() if one.last),
    )


def _group_by_member(looks: Sequence[Look]) -> dict[_MemberKey, _WaitsOfMember]:
    """The members that tools looked at, in the order of time, else of the names of files."""
    shown: dict[tuple[Tool, _MemberKey], list[list[tuple[Waiting, Look]]]] = {}
    for look in sorted(looks, key=lambda one: (one.stamp.wall_ns or 0, one.artifact)):
        here: dict[_MemberKey, list[tuple[Waiting, Look]]] = {
            (one.hash, member.rank): [] for one in look.communicators for member in one.ranks
        }
        for one in look.waiting:
            here.setdefault((one.hash, one.rank), []).append((one, look))
        for key, waits in here.items():
            shown.setdefault((look.tool, key), []).append(waits)
    found: dict[_MemberKey, _WaitsOfMember] = {}
    for (_, key), rounds in sorted(shown.items()):
        member = found.setdefault(key, _WaitsOfMember())
        member.last += rounds[-1]
        if len(rounds) > 1:
            member.twice = True
            member.changed |= _collect_signs(rounds[-1]) != _collect_signs(rounds[-2])
    return found


def _make_finding(case: LiveCase, end: _EndOfTransfers, picture: _TransferPicture) -> Finding:
    """The claim on one end."""
    rank, node = _find_member_place(case, end.member)
    if end.seen:
        strength = _TWO_LOOKS if picture.stands else _ONE_LOOK
    else:
        strength = _UNSEEN_TWICE if picture.stands else _UNSEEN
    strength /= len(picture.ends)
    who = f"rank {end.member[1]} of communicator {end.member[0]:x}"
    of_device = bool(end.own)
    what = "has not sent what its peers wait for"
    if of_device:
        what = "has not sent what its peers wait for, as its own GPU has not produced it"
    named = rank is not None or node is not None
    advice = "look at what that process does, and at its GPU"
    if not picture.stands:
        advice = _SECOND_LOOK
    if not end.seen:
        advice = "nothing tells of its own transfers: bring them, it may wait for another one"
    return make_look_claim(
        detector=_NAME,
        kind=VerdictKind.HANG,
        category=Category.NCCL_TIMEOUT if of_device else Category.HOST_STALL,
        ranks=() if rank is None else (rank,),
        nodes=(node,) if rank is None and node is not None else (),
        strength=strength,
        role=Role.CULPRIT if strength >= _TWO_LOOKS and named else Role.POSSIBLE,
        summary=what if named else f"{who} {what}",
        because=tuple(_list_reasons(end)),
        of_a_moment=not picture.stands,
        advice=advice,
    )


def _list_reasons(end: _EndOfTransfers) -> Iterator[Because]:
    for one, look in end.waiting[:_MAX_REASONS]:
        text = (
            f"rank {one.rank} of communicator {one.hash:x} waits for rank {one.peer} of it:"
            f" {one.operation} got nothing"
        )
        yield Because(_NAME, text, look.artifact, one.line)
    for one, look in end.own[:1]:
        yield Because(_NAME, f"its own {one.operation} waits for its GPU", look.artifact, one.line)


def _find_direction_alone(case: LiveCase, picture: _TransferPicture) -> Iterator[Finding]:
    """What transfers wait for where no peer is waited for: a hint on nobody."""
    if picture.on_wire:
        waits = picture.on_wire
        what = f"the wire to rank {waits[0][0].peer} of its communicator"
        advice = "look at the network between both, and at the peer's proxy thread"
    elif picture.on_device:
        waits, what = picture.on_device, "its own GPU"
        advice = "look at what runs on that GPU, and at what its peers' transfers wait for"
    else:
        return
    one, look = waits[0]
    more = f", and {len(waits) - 1} more transfers do" if len(waits) > 1 else ""
    summary = f"{_describe_waiting(case, one, look)} waits for {what} ({one.operation}){more}"
    yield make_look_claim(
        detector=_NAME,
        kind=VerdictKind.INCONCLUSIVE,
        category=Category.NCCL_TIMEOUT,
        strength=_NOBODY,
        summary=summary,
        because=(Because(_NAME, summary, look.artifact, one.line),),
        of_a_moment=not picture.stands,
        advice=advice,
    )


def _describe_waiting(case: LiveCase, one: Waiting, look: Look) -> str:
    """Who waits, as far as it is known."""
    rank = case.rank_of(one.process, look)
    if rank is None:
        rank = _find_member_place(case, (one.hash, one.rank))[0]
    return f"rank {one.rank} of communicator {one.hash:x}" if rank is None else f"rank {rank}"


def _find_member_place(case: LiveCase, member: _MemberKey) -> tuple[int | None, str | None]:
    """The global rank and the node of a member, as any tool knows it."""
    for process, look, _ in map_members(case.looks)[member]:
        rank = case.rank_of(process, look)
        node = case.node_of(process, look)
        if rank is not None or (node is not None and case.is_a_node(node)):
            return rank, node
    world = case.world_size or case.fleet.world_size
    sizes = {one.size for look in case.looks for one in look.communicators if one.hash == member[0]}
    if world is not None and sizes == {world}:
        return member[1], case.fleet.node_of(member[1])
    return None, None
