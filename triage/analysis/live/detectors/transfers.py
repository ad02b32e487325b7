"""Silent sender: a rank whose peers' transfers wait for it, while it waits for no peer itself.

Where its own transfers wait for its GPU, that GPU has not produced what it is to send. A transfer
on the wire alone points at the network between two ranks, and accuses nobody.

A receive that got nothing waits for its sender; a send without a buffer for its receiver; a step
whose data its own GPU has not produced or taken for that GPU.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.who import map_members
from triage.domain.category import Category, VerdictKind
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
_TOOLS: Final = frozenset({Tool.COMM_STATE, Tool.PROXY_TRACE, Tool.PROFILER})

_MemberKey = tuple[int, int]
"""The number of a communicator, and a rank in it."""
_Waits = Sequence[tuple[Waiting, Look]]


@dataclass(slots=True)
class _WaitsOfMember:
    """What the last looks at one member show; tools are compared with themselves alone."""

    last: list[tuple[Waiting, Look]] = field(default_factory=list)
    twice: bool = False
    changed: bool = False


def find_silent_senders(case: LiveCase) -> Iterator[Finding]:
    """One finding for each end of the waits between transfers, else one on nobody.

    Silent: where transfers moved between two looks, and where all wait in a circle.
    """
    members = _group_by_member([look for look in case.looks if look.tool in _TOOLS])
    if any(one.changed for one in members.values()):
        return
    waits = [pair for _, member in sorted(members.items()) for pair in member.last]
    # Whether all members that wait were looked at twice, and none changed.
    stands = all(one.twice for one in members.values() if one.last)
    busy = {(one.hash, one.rank) for one, _ in waits if one.peer is not None}
    by_peer: dict[_MemberKey, list[tuple[Waiting, Look]]] = defaultdict(list)
    for one, look in waits:
        if one.peer is not None and one.reason is WaitReason.PEER:
            by_peer[one.hash, one.peer].append((one, look))
    ends = sorted(by_peer.keys() - busy, key=lambda end: (-len(by_peer[end]), end))
    if not ends:
        yield from _find_direction_alone(case, waits, stands=stands)
        return
    for end in ends if len(ends) <= _MAX_ENDS else ():
        worth = (_UNSEEN_TWICE if stands else _UNSEEN, _TWO_LOOKS if stands else _ONE_LOOK)
        strength = worth[end in members] / len(ends)
        yield _make_finding(case, end, by_peer[end], members, strength, stands=stands)


def _collect_signs(waits: Iterable[tuple[Waiting, Look]]) -> frozenset[tuple[object, ...]]:
    """What is the same as long as nothing moves."""
    return frozenset((one.operation, one.reason, one.peer) for one, _ in waits)


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
    found: dict[_MemberKey, _WaitsOfMember] = defaultdict(_WaitsOfMember)
    for (_, key), rounds in sorted(shown.items()):
        member = found[key]
        member.last += rounds[-1]
        if len(rounds) > 1:
            member.twice = True
            member.changed |= _collect_signs(rounds[-1]) != _collect_signs(rounds[-2])
    return dict(found)


def _make_finding(
    case: LiveCase,
    end: _MemberKey,
    waiting: _Waits,
    members: Mapping[_MemberKey, _WaitsOfMember],
    strength: float,
    *,
    stands: bool,
) -> Finding:
    """The claim on a member that is waited for by ``waiting``, and waits for no peer."""
    key, member = end
    rank, node = _find_member_place(case, end)
    seen = end in members
    # Its waits for its own GPU.
    own = members[end].last if seen else []
    what = "has not sent what its peers wait for"
    if own:
        what += ", as its own GPU has not produced it"
    advice = "look at what that process does, and at its GPU" if stands else _SECOND_LOOK
    if not seen:
        advice = "nothing tells of its own transfers: bring them, it may wait for another one"
    reasons = [
        Because(
            _NAME,
            f"rank {one.rank} of communicator {one.hash:x} waits for rank {one.peer} of it:"
            f" {one.operation} got nothing",
            look.artifact,
            one.line,
        )
        for one, look in waiting[:_MAX_REASONS]
    ]
    reasons += [
        Because(_NAME, f"its own {one.operation} waits for its GPU", look.artifact, one.line)
        for one, look in own[:1]
    ]
    return make_look_claim(
        _NAME,
        what,
        ranks=(rank,),
        or_nodes=(node,),
        subject=f"rank {member} of communicator {key:x}",
        convicts=strength >= _TWO_LOOKS,
        kind=VerdictKind.HANG,
        category=Category.NCCL_TIMEOUT if own else Category.HOST_STALL,
        strength=strength,
        because=tuple(reasons),
        of_a_moment=not stands,
        advice=advice,
    )


def _find_direction_alone(case: LiveCase, waits: _Waits, *, stands: bool) -> Iterator[Finding]:
    """What transfers wait for where no peer is waited for: a hint on nobody."""
    on_wire = [pair for pair in waits if pair[0].reason is WaitReason.WIRE]
    shown = on_wire or [pair for pair in waits if pair[0].reason is WaitReason.OWN_DEVICE]
    if not shown:
        return
    one, look = shown[0]
    what = "its own GPU"
    advice = "look at what runs on that GPU, and at what its peers' transfers wait for"
    if on_wire:
        what = f"the wire to rank {one.peer} of its communicator"
        advice = "look at the network between both, and at the peer's proxy thread"
    more = f", and {len(shown) - 1} more transfers do" if len(shown) > 1 else ""
    rank = case.rank_of(one.process, look)
    if rank is None:
        rank = _find_member_place(case, (one.hash, one.rank))[0]
    who = f"rank {one.rank} of communicator {one.hash:x}" if rank is None else f"rank {rank}"
    summary = f"{who} waits for {what} ({one.operation}){more}"
    yield make_look_claim(
        _NAME,
        summary,
        kind=VerdictKind.INCONCLUSIVE,
        category=Category.NCCL_TIMEOUT,
        strength=_NOBODY,
        because=(Because(_NAME, summary, look.artifact, one.line),),
        of_a_moment=not stands,
        advice=advice,
    )


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
