"""The ends of the waits that may be operations in flight, and those at which ranks lie behind.

Ranks that several finished operations separate from all their peers stand still, however fresh
the dumps are: a collective that needs everybody is finished by nobody before each member had its
part in it. Ranks that were dumped before the others look the same; but then more of them do, at
places that have nothing to do with each other, and peers that were dumped one after the other
stand one behind the other too.
"""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.snapshots.snapshot import NOTHING, Snapshot
from triage.analysis.waiting.dump_moment import dump_moment, is_counter_behind
from triage.analysis.waiting.waits import PlaceKind, WaitGraph, WaitPlace
from triage.domain.rank_digest import FINISHED, MISSING, P2P, ROOTED_BIT, STARTED_BIT, RankDigest

# A device that stopped may leave this many finished operations unreported.
_UNREPORTED: Final = 2
# In a stop, members stand in so few places that others of their group have got through.
_MAX_PLACES: Final = 2
# Clocks of nodes are nearer to each other, and all members of a collective end sooner than so.
_LONG_AGO_NS: Final = 1_000_000_000
# As many ranks as a node commonly has, where no map is known.
_NODE_RANKS: Final = 8


@dataclass(frozen=True, slots=True)
class EndsInFlight:
    """The ends of the waits that may be operations in flight, by what they look like."""

    entered: list[WaitPlace]
    """All members have entered it, and nobody is kept from finishing it."""
    partial: list[WaitPlace]
    """Some members have finished it, the others have entered it."""
    idle: list[WaitPlace]


def find_ends(snapshot: Snapshot, graph: WaitGraph) -> EndsInFlight:
    """The ends that are single places, sorted; of a record that was cut nothing is told."""
    ends = EndsInFlight([], [], [])
    for number in graph.ends:
        members = graph.components[number]
        place = graph.places[members[0]]
        if len(members) > 1 or not all(_is_whole(snapshot, rank) for rank in place.waiting):
            continue
        if place.kind is PlaceKind.IDLE:
            ends.idle.append(place)
        elif place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P) and not (
            place.missing or place.absent or place.held
        ):
            (ends.partial if place.through else ends.entered).append(place)
    return ends


def _is_whole(snapshot: Snapshot, rank: int) -> bool:
    """Whether a rank's record is there, and whole."""
    digest = snapshot.digest_of(rank)
    return digest is not None and digest.partial is None


def list_far_behind(snapshot: Snapshot, place: WaitPlace) -> list[int]:
    """Who stands at a place beyond which peers have finished more operations of the group.

    They end in order and need all members, so that these ranks had a part in them. What
    a device that stopped did not report any more is one operation, or two.
    """
    rows = snapshot.rows(place.group)
    done = int(snapshot.done[rows].max(initial=-1))
    if not is_rooted(snapshot, place):
        pending = snapshot.pending[rows]
        done = max(done, int(pending[pending != NOTHING].max(initial=0)) - 1)
    return place.waiting if done >= place.seq + _UNREPORTED else []


def is_rooted(snapshot: Snapshot, place: WaitPlace) -> bool:
    """Broadcast, reduce and the like: some members finish early by right."""
    for rank in place.waiting:
        digest, stuck = snapshot.digest_of(rank), snapshot.stuck_of(rank)
        if digest is not None and stuck is not None and stuck.row is not None:
            return bool(int(digest.pending.flags[stuck.row]) & ROOTED_BIT)
    return False


def is_timed(digest: RankDigest) -> bool:
    """Whether the rank records when its device starts: else "scheduled" says nothing."""
    stamped = bool((digest.pending.started != MISSING).any())
    return stamped or any((row.started or -1) >= 0 for row in digest.counters)


def find_home(snapshot: Snapshot, rank: int) -> str:
    """The node of a rank, else its block of as many ranks as a node commonly has."""
    node = snapshot.node_of(rank)
    return node if node is not None else f"block {rank // _NODE_RANKS}"


def find_left_behind(snapshot: Snapshot, graph: WaitGraph, ends: EndsInFlight) -> list[WaitPlace]:
    """The ends at which a few ranks stand still while all their peers finished several operations
    more; empty where these ranks may have been dumped before the others.

    Dumps of a job that runs have other operations in flight, contradict each other, show peers
    one behind the other in the same group, or the end of something that was not counted yet; and
    who is pulled together, as all ranks of a node, lies behind together.
    """
    behind = [place for place in ends.partial if list_far_behind(snapshot, place)]
    if not behind or snapshot.apart or ends.entered or len(behind) < len(ends.partial):
        return []
    steps = {(snapshot.groups[place.group].desc, place.seq) for place in behind}
    places = Counter(
        place.group
        for place in graph.places
        if place.kind is PlaceKind.COLLECTIVE and place.through
    )
    if max(len(steps), *(places[place.group] for place in behind)) > _MAX_PLACES:
        return []
    ranks = {rank for place in behind for rank in place.waiting}
    if 2 * len(ranks) >= len(snapshot.digests) or _is_whole_node(snapshot, ranks):
        return []
    # Their own entries show what they wait in, and no sign that they moved when they were dumped.
    still = all(
        stuck is not None
        and stuck.row is not None
        and not is_not_begun(snapshot, rank)
        and dump_moment(snapshot.digests[index], rank, waits=True) is None
        and not is_counter_behind(snapshot, index)
        for rank in ranks
        for index in [snapshot.index_of[rank]]
        for stuck in [snapshot.stuck[index]]
    )
    return behind if still or all(has_stood_since(snapshot, place) for place in behind) else []


def _is_whole_node(snapshot: Snapshot, ranks: Set[int]) -> bool:
    """Whether several ranks are all that their nodes have in the job."""
    nodes = {find_home(snapshot, rank) for rank in ranks}
    there = {rank for rank in snapshot.world if find_home(snapshot, rank) in nodes}
    return len(there) > len(nodes) and there <= ranks


def is_not_begun(snapshot: Snapshot, rank: int) -> bool:
    """Whether a rank's device had not come to what the rank waits in, which timing tells."""
    digest, stuck = snapshot.digest_of(rank), snapshot.stuck_of(rank)
    if digest is None or stuck is None or stuck.row is None or not is_timed(digest):
        return False
    return not int(digest.pending.flags[stuck.row]) & (STARTED_BIT | ROOTED_BIT)


def has_stood_since(snapshot: Snapshot, place: WaitPlace) -> bool:
    """Whether the ranks at a place were dumped long after a peer had finished further operations
    of the group, as far as the moments of the dumps are known.
    """
    ended = [
        ns
        for rank in place.through
        for ns in [_find_noticed_end_ns(snapshot, rank, place.group, place.seq + _UNREPORTED)]
        if ns is not None
    ]
    if not ended:
        return False
    for rank in place.waiting:
        pull = dump_moment(snapshot.digests[snapshot.index_of[rank]], rank, waits=True)
        if pull is None or pull.ended or pull.pulled_ns - min(ended) < _LONG_AGO_NS:
            return False
    return True


def _find_noticed_end_ns(snapshot: Snapshot, rank: int, group: int, seq: int) -> int | None:
    """When the end of a collective was noticed on one rank."""
    index = snapshot.index_of[rank]
    past = snapshot.digests[index].history.read()
    hit = np.isin(past.stream, snapshot.group_streams(index, group)) & (past.seq == seq)
    hit &= ((past.flags & (FINISHED | P2P)) == FINISHED) & (past.wait_us >= 0)
    if not hit.any():
        return None
    at = int(np.argmax(hit))
    return int(past.created[at]) + int(past.wait_us[at]) * 1000
