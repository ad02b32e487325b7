"""Who waits for whom.

A rank is stuck in its oldest unfinished operation. Ranks stuck in the same one are a *place*: a
collective, or send/recv blocks whose ends match. A place waits for the members of its group that
have not got there: for another place, where such a member is stuck in turn, or for a rank that is
idle (everything it issued is done, and it issues nothing more) or left no dump. The culprits are
where these chains end; everybody on the way is a victim.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from triage.analysis.snapshots.p2p import Channel, list_channels
from triage.analysis.snapshots.snapshot import NOTHING, UNKNOWN, Snapshot
from triage.domain.rank_digest import MISSING


class PlaceKind(StrEnum):
    """What a node of the graph is."""

    COLLECTIVE = "collective"
    P2P = "p2p"
    IDLE = "idle"
    NO_DUMP = "no_dump"
    APART = "apart"


@dataclass(slots=True)
class WaitPlace:
    """A node of the wait-for graph. Ranks are global and ascend.

    ``waiting`` are stuck here; ``missing`` have a dump and never issued it,
    ``held`` issued it but are stuck elsewhere, ``through`` have finished it,
    ``absent`` left no dump, ``unknown`` may be anywhere.
    """

    index: int
    kind: PlaceKind
    group: int
    seq: int
    waiting: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    through: list[int] = field(default_factory=list)
    absent: list[int] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)


@dataclass(slots=True)
class WaitGraph:
    """Places and who waits for whom.

    ``waits_for[a][b]`` are the ranks through which place ``a`` waits for ``b``.
    ``components`` are the strongly connected parts, ends first; ``ends`` those
    that wait for nobody. ``reach[c]`` is a bit set of the ends that component
    ``c`` leads to. ``waited_by`` are the edges turned round.
    """

    places: list[WaitPlace]
    place_of: dict[int, int]
    waits_for: list[dict[int, list[int]]]
    channels: list[Channel]
    component_of: list[int]
    components: list[list[int]]
    ends: list[int]
    reach: list[int]
    waited_by: list[list[int]]


def count_issued_before(snapshot: Snapshot, rank: int, group: int) -> int:
    """How many collectives of ``group`` a rank issued before the one it is stuck in."""
    row = snapshot.row(group, rank)
    if row < 0:
        return UNKNOWN
    stuck = snapshot.stuck_of(rank)
    index = snapshot.index_of.get(rank)
    if stuck is None or index is None:
        return int(snapshot.issued[row])
    if stuck.group == group and not stuck.p2p:
        return stuck.seq - 1
    # Everything before the oldest unfinished operation is finished.
    pending = [
        int(snapshot.digests[index].streams.pending[k])
        for k in snapshot.group_streams(index, group)
    ]
    pending = [seq for seq in pending if seq != MISSING]
    if pending:
        return min(pending) - 1
    if snapshot.pending[row] != NOTHING:
        return int(snapshot.pending[row]) - 1
    return int(snapshot.issued[row])


def wait_graph(snapshot: Snapshot) -> WaitGraph:
    """Build the graph over all ranks."""
    places: list[WaitPlace] = []
    place_of: dict[int, int] = {}
    pairs = list_channels(snapshot)
    blocks = _add_p2p_places(snapshot, pairs, places, place_of)
    _add_collective_places(snapshot, places, place_of)
    edges = _find_edges(snapshot, places, place_of, pairs, blocks)
    waited_by: list[list[int]] = [[] for _ in places]
    for source, targets in enumerate(edges):
        for place_index in targets:
            waited_by[place_index].append(source)
    component_of, components = _find_strong_components(edges, waited_by)
    ends, reach = _find_ends_and_reach(edges, component_of, components)
    return WaitGraph(
        places, place_of, edges, pairs, component_of, components, ends, reach, waited_by
    )


def _add_collective_places(
    snapshot: Snapshot, places: list[WaitPlace], place_of: dict[int, int]
) -> None:
    collectives: dict[tuple[int, int], int] = {}
    for index, stuck in enumerate(snapshot.stuck):
        rank = int(snapshot.ranks[index])
        if stuck is None or rank in snapshot.apart or stuck.p2p:
            continue
        key = (stuck.group, stuck.seq)
        if key not in collectives:
            collectives[key] = _add(places, PlaceKind.COLLECTIVE, *key)
        place = places[collectives[key]]
        place.waiting.append(rank)
        place_of[rank] = place.index
    for number in collectives.values():
        _sort_members(snapshot, places[number])


def _find_edges(
    snapshot: Snapshot,
    places: list[WaitPlace],
    place_of: dict[int, int],
    pairs: Sequence[Channel],
    blocks: dict[int, int],
) -> list[dict[int, list[int]]]:
    """For each place, the places that it waits for, and by which ranks. Who waits in nothing gets
    a place of its own behind the others.
    """
    edges: list[dict[int, list[int]]] = [{} for _ in places]
    sinks: dict[int, int] = {}

    def target(rank: int) -> int:
        if rank in place_of:
            return place_of[rank]
        if rank not in sinks:
            kind = PlaceKind.IDLE if rank in snapshot.index_of else PlaceKind.NO_DUMP
            kind = PlaceKind.APART if rank in snapshot.apart else kind
            sinks[rank] = _add(places, kind, -1, 0)
            places[sinks[rank]].waiting.append(rank)
            edges.append({})
        return sinks[rank]

    for place in places[: len(edges)]:
        for rank in (*place.missing, *place.held, *place.absent):
            other = target(rank)
            if other != place.index:
                edges[place.index].setdefault(other, []).append(rank)
    for channel in pairs:
        if channel.matched:
            continue
        source = blocks[channel.rank]
        other = target(channel.peer)
        if other != source:
            edges[source].setdefault(other, []).append(channel.peer)
            ranks = places[source].missing if channel.peer_has_dump else places[source].absent
            if channel.peer not in ranks:
                ranks.append(channel.peer)
    return edges


def _add(places: list[WaitPlace], kind: PlaceKind, group: int, seq: int) -> int:
    places.append(WaitPlace(len(places), kind, group, seq))
    return len(places) - 1


def _sort_members(snapshot: Snapshot, place: WaitPlace) -> None:
    rows = snapshot.rows(place.group)
    ranks = snapshot.member_rank[rows]
    digest = snapshot.member_digest[rows]
    issued = snapshot.issued[rows]
    pending = snapshot.pending[rows]
    stuck_here = np.isin(ranks, place.waiting)
    apart = np.isin(ranks, list(snapshot.apart)) if snapshot.apart else np.zeros(len(ranks), bool)
    absent = (digest < 0) | apart
    known = ~absent & ~stuck_here
    unknown = known & (issued == UNKNOWN)
    missing = known & ~unknown & (issued < place.seq)
    through = known & ~unknown & ~missing & (pending > place.seq)
    held = known & ~unknown & ~missing & ~through
    place.missing = np.sort(ranks[missing]).tolist()
    place.held = np.sort(ranks[held]).tolist()
    place.through = np.sort(ranks[through]).tolist()
    # Of a collective that needs everybody, one member's end proves that all have come.
    if int(snapshot.done[rows].max(initial=UNKNOWN)) < place.seq:
        place.absent = np.sort(ranks[absent]).tolist()
    place.unknown = np.sort(ranks[unknown]).tolist()


def _add_p2p_places(
    snapshot: Snapshot, pairs: Iterable[Channel], places: list[WaitPlace], place_of: dict[int, int]
) -> dict[int, int]:
    """Blocks whose ends match are one place: they finish together or not at all."""
    beside: dict[int, list[int]] = {
        int(snapshot.ranks[index]): []
        for index, stuck in enumerate(snapshot.stuck)
        if stuck is not None and stuck.p2p and int(snapshot.ranks[index]) not in snapshot.apart
    }
    for channel in pairs:
        if channel.matched and channel.peer in beside:
            beside[channel.rank].append(channel.peer)
            beside[channel.peer].append(channel.rank)
    seen: set[int] = set()
    for rank in sorted(beside):
        stuck = snapshot.stuck_of(rank)
        together = sorted(_list_reached(beside, rank, seen))
        if together and stuck is not None:
            index = _add(places, PlaceKind.P2P, stuck.group, stuck.seq)
            places[index].waiting = together
            place_of |= dict.fromkeys(together, index)
    return place_of


def _list_reached(
    edges: Mapping[int, Iterable[int]] | Sequence[Iterable[int]], start: int, seen: set[int]
) -> list[int]:
    """What is reached from ``start`` and was not ``seen``, each behind all that it leads to."""
    found: list[int] = []
    work = [(start, False)]
    while work:
        node, is_left = work.pop()
        if is_left:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            work.append((node, True))
            work += [(target, False) for target in edges[node]]
    return found


def _find_strong_components(
    edges: Sequence[Iterable[int]], waited_by: Sequence[Iterable[int]]
) -> tuple[list[int], list[list[int]]]:
    """The component of each place, and the places of each; ends come first (Kosaraju), and of
    several ends that with the lowest number.
    """
    seen: set[int] = set()
    starts = reversed(range(len(edges)))
    order = [k for start in starts for k in _list_reached(waited_by, start, seen)]
    seen = set()
    components = [
        sorted(members) for k in reversed(order) if (members := _list_reached(edges, k, seen))
    ]
    component_of = [-1] * len(edges)
    for number, members in enumerate(components):
        for k in members:
            component_of[k] = number
    return component_of, components


def _find_ends_and_reach(
    edges: list[dict[int, list[int]]], component_of: list[int], components: list[list[int]]
) -> tuple[list[int], list[int]]:
    """Components without a way out, and per component the set of ends it leads to (bits)."""
    ends: list[int] = []
    reach: list[int] = []
    for number, members in enumerate(components):
        bits = 0
        for member in members:
            for target in edges[member]:
                if component_of[target] != number:
                    bits |= reach[component_of[target]]
        if not bits:
            bits = 1 << len(ends)
            ends.append(number)
        reach.append(bits)
    return ends, reach
