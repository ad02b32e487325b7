"""Send and receive, matched by channel and order.

A channel is (source, destination) within a group. Sequence numbers of p2p
operations are local to a rank, so ends are matched by who names whom: the
unfinished sends of one rank against the unfinished receives of its peer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.snapshots.snapshot import Snapshot, Stuck
from triage.domain.rank_digest import ANY_SOURCE


@dataclass(frozen=True, slots=True)
class Channel:
    """One end of a transfer in the block that ``rank`` is stuck in.

    ``matched``: the peer's present block holds the other end. ``later``: the peer
    issued the other end, behind what it is stuck in. ``same_size`` compares
    sizes and dtypes of both ends, None when there is no other end.
    """

    rank: int
    peer: int
    group: int
    send: bool
    peer_has_dump: bool
    matched: bool = False
    later: bool = False
    same_size: bool | None = None
    any_source: bool = False
    """Whether the peer is one of all that may send."""


@dataclass(frozen=True, slots=True)
class _End:
    unit: int
    send: bool
    peer: int
    sig: int


def list_channels(snapshot: Snapshot) -> list[Channel]:
    """Every end of the p2p blocks that ranks are stuck in."""
    ends: dict[int, list[_End]] = {}
    for index, stuck in enumerate(snapshot.stuck):
        rank = int(snapshot.ranks[index])
        if stuck is not None and stuck.p2p and rank not in snapshot.apart:
            ends[rank] = list(_list_ends(snapshot, index, stuck.group))
    _name_sources(snapshot, ends)
    pairs = []
    for rank in sorted(ends):  # a copy: peers are added on the way
        stuck = snapshot.stuck_of(rank)
        order: Counter[tuple[bool, int]] = Counter()
        for end in ends[rank]:
            if stuck is None or end.unit != stuck.row:
                continue
            if end.peer == ANY_SOURCE:
                pairs += _may_send(snapshot, rank, stuck)
                continue
            if end.peer not in ends:
                # Not stuck in p2p, it may have issued some behind.
                known = snapshot.digest_of(end.peer) is not None
                index = snapshot.index_of.get(end.peer, -1)
                found = _list_ends(snapshot, index, stuck.group) if known else ()
                ends[end.peer] = list(found)
            place = order[end.send, end.peer]
            order[end.send, end.peer] += 1
            pairs.append(_match(snapshot, rank, stuck, end, place, ends[end.peer]))
    return pairs


def _name_sources(snapshot: Snapshot, ends: dict[int, list[_End]]) -> None:
    """Give receives from any source the rank that sends to them, where one stands in that."""
    senders: dict[tuple[int, int], list[int]] = defaultdict(list)
    group_of = {rank: stuck.group for rank in ends if (stuck := snapshot.stuck_of(rank))}
    for rank, group in group_of.items():
        for end in ends[rank]:
            if end.send:
                senders[end.peer, group].append(rank)
    for rank, group in group_of.items():
        own, waiting = ends[rank], senders[rank, group]
        for place, end in enumerate(own):
            if end.peer == ANY_SOURCE and waiting:
                own[place] = replace(end, peer=waiting.pop(0))


def _may_send(snapshot: Snapshot, rank: int, stuck: Stuck) -> list[Channel]:
    """A receive from any source, of which nobody stands in the send: any member may be it."""
    return [
        Channel(rank, peer, stuck.group, False, peer in snapshot.index_of, any_source=True)
        for peer in snapshot.groups[stuck.group].ranks[:_MAX_SOURCES]
        if peer != rank
    ]


def _list_ends(snapshot: Snapshot, index: int, number: int) -> Iterator[_End]:
    """All unfinished ends of one rank in one group, in the order issued."""
    digest = snapshot.digests[index]
    group = snapshot.groups[number]
    groups = snapshot.membership.stream_groups[index]
    for member in sorted(digest.members, key=lambda member: member.unit):
        if groups[int(digest.pending.stream[member.unit])] != number:
            continue
        peer = ANY_SOURCE if member.peer == ANY_SOURCE else group.global_rank(member.peer)
        own = group.global_rank(member.own)
        if peer is None or (own is not None and own != int(snapshot.ranks[index])):
            continue
        yield _End(member.unit, bool(member.send), peer, member.sig)


# Of a group, so many may be whom a receive from any source waits for.
_MAX_SOURCES: Final = 64
# A pair that sent so often in this order does not stand still for the order.
STEADY_SEQ: Final = 16


def _is_crossing(
    snapshot: Snapshot, rank: int, peer: int, receive: _End, theirs: list[_End]
) -> bool:
    """Whether two ranks send to each other at once, and each receives right behind that.

    ``batch_isend_irecv`` records it so, as transfers one behind the other that go together; and
    a pair that has long done so is not held up by it.
    """
    stuck, peer_stuck = snapshot.stuck_of(rank), snapshot.stuck_of(peer)
    if stuck is None or peer_stuck is None or peer_stuck.row is None:
        return False
    if not peer_stuck.p2p or peer_stuck.group != stuck.group:
        return False
    if min(stuck.seq, peer_stuck.seq) < STEADY_SEQ:
        return False
    sends = any(one.unit == peer_stuck.row and one.send and one.peer == rank for one in theirs)
    pending = snapshot.digests[snapshot.index_of[peer]].pending
    return sends and int(pending.entry[receive.unit] - pending.entry[peer_stuck.row]) == 1


def _match(
    snapshot: Snapshot, rank: int, stuck: Stuck, end: _End, place: int, theirs: list[_End]
) -> Channel:
    """The ``place``-th end of this direction against the peer's ends of the other direction."""
    other_side = [
        channel for channel in theirs if channel.peer == rank and channel.send != end.send
    ]
    peer_stuck = snapshot.stuck_of(end.peer)
    here = place < len(other_side)
    now = here and peer_stuck is not None and other_side[place].unit == peer_stuck.row
    if here and not now and end.send:
        now = _is_crossing(snapshot, rank, end.peer, other_side[place], theirs)
    return Channel(
        rank=rank,
        peer=end.peer,
        group=stuck.group,
        send=end.send,
        matched=now,
        later=here and not now,
        peer_has_dump=end.peer in snapshot.index_of,
        same_size=other_side[place].sig == end.sig if here else None,
    )
