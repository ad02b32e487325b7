"""Where each rank is stuck: the oldest operation that it has not finished.

Entries say it where they hold it; counters do where a record was cut, or where its ring has
wrapped. Gloo retires an operation whose peer has gone, and its rank is stuck there all the same.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from triage.analysis.snapshots.snapshot import NOTHING, Snapshot, Stuck
from triage.domain.rank_digest import ISSUED_ALONE, P2P

# Members of a group that are asked in which order they issued what is open.
_MAX_BESIDE: Final = 32


def find_stuck(snapshot: Snapshot, index: int, capacity: int) -> Stuck | None:
    """The oldest unfinished operation of one rank."""
    digest = snapshot.digests[index]
    groups = snapshot.membership.stream_groups[index]
    # A ring that has wrapped and holds nothing that is finished: what the rank is stuck in may
    # have left it, and the counters know better.
    wrapped = digest.first_record_id > 0 and digest.num_entries == capacity
    if wrapped and not digest.eventless and not digest.history.any_finished:
        for place in _list_counter_places(snapshot, index):
            return place
    for row, unit in enumerate(digest.pending):
        group = groups[unit.stream] if unit.stream < len(groups) else -1
        if group < 0:
            continue
        p2p = bool(unit.flags & P2P)
        if digest.eventless and _is_group_through(snapshot, group, unit.seq, p2p=p2p):
            continue
        return Stuck(group, unit.seq, p2p, row)
    if digest.partial is None and (digest.num_entries or snapshot.only_active):
        return None
    return next(iter(_list_counter_places(snapshot, index)), None)


def _is_group_through(snapshot: Snapshot, group: int, seq: int, *, p2p: bool) -> bool:
    """Gloo marks an operation retired a little after the caller went on: when all
    members have entered it and some have retired it, it is over.
    """
    if p2p:
        return False
    rows = snapshot.rows(group)
    issued = snapshot.issued[rows]
    if (issued < seq).any():
        return False
    return bool((snapshot.pending[rows] > seq).any())


def _list_counter_places(snapshot: Snapshot, index: int) -> list[Stuck]:
    """Unfinished operations that only the counters of a rank tell of. Started ones first, then
    those that a member has not issued, then those of small groups: they stand further in.
    """
    rank = int(snapshot.ranks[index])
    found = []
    for group in sorted(set(snapshot.membership.listed[index].values())):
        row = snapshot.row(group, rank)
        if row < 0 or snapshot.pending[row] == NOTHING or snapshot.has_p2p[row]:
            continue
        seq = int(snapshot.pending[row])
        started = bool(snapshot.started[row] >= seq)
        rows = snapshot.rows(group)
        complete = bool((snapshot.issued[rows] >= seq).all())
        order = (not started, complete, rows.stop - rows.start, group)
        found.append((order, Stuck(group, seq, p2p=False, inferred=True)))
    return [place for _, place in sorted(found, key=lambda one: one[0])]


def prefer_shared_places(snapshot: Snapshot) -> None:
    """Where a rank is stuck of which only counters tell: in what others issue first, else where
    others are stuck with it, if anywhere.
    """
    shared = {(s.group, s.seq) for s in snapshot.stuck if s is not None and not s.inferred}
    for index, stuck in enumerate(snapshot.stuck):
        if stuck is None or not stuck.inferred:
            continue
        places = _list_counter_places(snapshot, index)
        first = _select_first_for_others(snapshot, places)
        if first is not None:
            snapshot.stuck[index] = first
            continue
        for place in places:
            if (place.group, place.seq) in shared:
                snapshot.stuck[index] = place
                break


def _select_first_for_others(snapshot: Snapshot, places: Sequence[Stuck]) -> Stuck | None:
    """The one of ``places`` that a rank beside has issued first, of all that it has open too."""
    if len(places) < 2:
        return None
    of = {(snapshot.groups[place.group].desc, place.seq): place for place in places}
    beside = dict.fromkeys(
        rank for place in places for rank in snapshot.groups[place.group].ranks[:_MAX_BESIDE]
    )
    most: list[Stuck] = []
    for rank in beside:
        index = snapshot.index_of.get(rank)
        if index is None or snapshot.digests[index].partial is not None:
            continue
        digest = snapshot.digests[index]
        groups = snapshot.membership.stream_groups[index]
        told = []
        for unit in digest.pending:
            group = groups[unit.stream]
            if group >= 0 and not unit.flags & P2P:
                place = of.get((snapshot.groups[group].desc, unit.seq))
                told += [place] if place is not None else []
        if len(told) > len(most):
            most = told
    return most[0] if len(most) > 1 else None


def break_gloo(snapshot: Snapshot) -> None:
    """Gloo retires an operation with an error when a peer goes away. A rank whose last
    operation lacks a member is stuck there, however the record ends.
    """
    for index, digest in enumerate(snapshot.digests):
        if not digest.eventless or snapshot.stuck[index] is not None or digest.last_unit is None:
            continue
        last = digest.last_unit
        groups = snapshot.membership.stream_groups[index]
        if last.stream >= len(groups) or last.flags & P2P:
            continue
        group = groups[last.stream]
        if group < 0:
            continue
        rows = snapshot.rows(group)
        absent = snapshot.member_digest[rows] < 0
        behind = (snapshot.issued[rows] >= 0) & (snapshot.issued[rows] < last.seq)
        if not behind.any():
            # Where no rank issued anything beyond this one, the job may simply have ended.
            others = (one for k, one in enumerate(snapshot.stuck) if k != index)
            broken = (one is None or one.broken for one in others)
            if not absent.any():
                continue
            ends = map(snapshot.last_place, range(len(snapshot.digests)))
            if all(broken) and len(set(ends)) == 1:
                continue
        snapshot.stuck[index] = Stuck(group, last.seq, p2p=False, broken=True)


def stop_at_what_peers_lack(snapshot: Snapshot) -> None:
    """Where nothing tells what ended, a rank stands in the first collective that it issued and a
    member whose record is whole did not.
    """
    for index, digest in enumerate(snapshot.digests):
        if snapshot.stuck[index] is not None or digest.pending_total:
            continue
        groups = snapshot.membership.stream_groups[index]
        past = digest.history.read()
        silent = (past.flags & (ISSUED_ALONE | P2P)) == ISSUED_ALONE
        least = np.array([_find_least_issued(snapshot, group) for group in groups], np.int64)
        if not len(least):
            continue
        lacking = np.flatnonzero(silent & (past.seq > least[past.stream]))
        if len(lacking):
            row = int(lacking[0])
            place = Stuck(groups[int(past.stream[row])], int(past.seq[row]), p2p=False, broken=True)
            snapshot.stuck[index] = place


def _find_least_issued(snapshot: Snapshot, group: int) -> int:
    """The number up to which every member that is known has issued the collectives of a group."""
    if group < 0:
        return NOTHING
    issued = snapshot.issued[snapshot.rows(group)]
    known = issued[issued >= 0]
    return int(known.min()) if len(known) else NOTHING
