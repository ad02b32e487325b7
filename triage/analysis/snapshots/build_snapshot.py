"""The tables of a snapshot, filled from entries, and from counters where entries are missing."""

from collections.abc import Callable, Sequence, Set
from itertools import chain
from typing import Final

import numpy as np

from triage.analysis.snapshots.groups import Membership
from triage.analysis.snapshots.snapshot import NOTHING, UNKNOWN, Snapshot, Stuck
from triage.domain.arrays import Flags
from triage.domain.job import Job
from triage.domain.rank_digest import (
    ISSUED_ALONE,
    MISSING,
    P2P,
    ROOTED_BIT,
    S_DONE,
    S_FINISHED,
    Counters,
    OpDescription,
    RankDigest,
)

# Nobody keeps a ring of fewer entries than this.
_LEAST_RING: Final = 10


def build_snapshot(
    digests: Sequence[RankDigest],
    ranks: Sequence[int],
    membership: Membership,
    operations: dict[int, OpDescription],
    job: Job,
    node_of: Callable[[int], str | None],
) -> Snapshot:
    """Fill the tables from the digests, which are one per rank and ascending."""
    groups = membership.groups
    size = sum(len(group.ranks) for group in groups)
    listed = set(ranks).union(*(group.ranks for group in groups))
    snapshot = Snapshot(
        digests=digests,
        ranks=np.array(ranks, np.int64),
        membership=membership,
        operations=operations,
        job=job,
        node_of=node_of,
        world=tuple(sorted(listed.union(range(membership.world_size or job.world_size or 0)))),
        member_rank=np.fromiter(
            chain.from_iterable(group.ranks for group in groups), np.int64, size
        ),
        member_digest=np.full(size, -1, np.int64),
        issued=np.full(size, UNKNOWN, np.int64),
        pending=np.full(size, NOTHING, np.int64),
        done=np.full(size, UNKNOWN, np.int64),
        started=np.full(size, UNKNOWN, np.int64),
        has_p2p=np.zeros(size, np.bool_),
        stuck=[],
        index_of={rank: index for index, rank in enumerate(ranks)},
        place_of=[map_places(group.ranks) for group in groups],
        only_active=_leave_out_finished(digests),
        notes=list(membership.notes),
    )
    place = np.minimum(np.searchsorted(snapshot.ranks, snapshot.member_rank), len(ranks) - 1)
    there = snapshot.ranks[place] == snapshot.member_rank
    snapshot.member_digest[there] = place[there]
    snapshot.has_p2p[:] = _flag_groups_with_p2p(snapshot)
    carry_rooted = _find_groups_with_rooted(snapshot)
    inferred = 0
    for index, digest in enumerate(digests):
        inferred += _fill(snapshot, index, digest, carry_rooted)
    _forget_p2p_counters(snapshot)
    _mark_never_entered(snapshot)
    if inferred:
        snapshot.notes.append(
            f"{inferred} dumps hold no entry that names a group of their counters: which group a"
            " counter belongs to was inferred from the order of both tables"
        )
    # A ring that has wrapped is full, and all are of one size; 0 where nothing says it.
    full = {digest.num_entries for digest in digests if digest.first_record_id > 0}
    capacity = full.pop() if len(full) == 1 and not snapshot.only_active else 0
    # The ranks of a group are mostly stuck in one operation.
    known: dict[Stuck | None, Stuck | None] = {}
    for index in range(len(digests)):
        stuck = find_stuck(snapshot, index, capacity)
        snapshot.stuck.append(known.setdefault(stuck, stuck))
    prefer_shared_places(snapshot)
    break_gloo(snapshot)
    stop_at_what_peers_lack(snapshot)
    return snapshot


def map_places(ranks: tuple[int, ...]) -> dict[int, int] | range:
    """Where each rank of a group stands in it, which is what a range says of evenly spaced ones."""
    if len(ranks) > 1 and ranks[1] > ranks[0]:
        even = range(ranks[0], ranks[-1] + 1, ranks[1] - ranks[0])
        if len(even) == len(ranks) and ranks == tuple(even):
            return even
    return {rank: place for place, rank in enumerate(ranks)}


def _flag_groups_with_p2p(snapshot: Snapshot) -> Flags:
    """Rows of groups that carry send/recv on any rank: their counters mix two counts.

    An only-active dump of one stage may show none, so groups of the same kind count.
    """
    with_p2p = {
        groups[k]
        for digest, groups in zip(snapshot.digests, snapshot.membership.stream_groups, strict=True)
        for k in np.flatnonzero(digest.streams.num_p2p > 0).tolist()
    } - {-1}
    descs = {snapshot.groups[group].desc for group in with_p2p}
    mixed = np.zeros(len(snapshot.issued), np.bool_)
    for group in snapshot.groups:
        if group.index in with_p2p or (group.desc and group.desc in descs):
            mixed[snapshot.rows(group.index)] = True
    return mixed


def _find_groups_with_rooted(snapshot: Snapshot) -> set[int]:
    """Groups in which broadcasts, reduces and the like were seen on any rank.

    A counter counts them like all else, and the root and those before a missing rank finish them
    by right: there what a counter calls finished proves nothing of other ranks.
    """
    found: set[int] = set()
    for digest, groups in zip(snapshot.digests, snapshot.membership.stream_groups, strict=True):
        table = digest.streams.values
        rooted = set(np.flatnonzero(table[:, S_FINISHED] > table[:, S_DONE]).tolist())
        if len(digest.pending):
            rooted.update(digest.pending.stream[digest.pending.flags & ROOTED_BIT != 0].tolist())
        found.update(groups[k] for k in rooted)
    return found


def _forget_p2p_counters(snapshot: Snapshot) -> None:
    """Groups that are known by counters alone, which contradict each other: send/recv.

    Of collectives nobody finishes one that another member has not issued.
    """
    shown = {group for groups in snapshot.membership.stream_groups for group in groups}
    for group in snapshot.groups:
        rows = snapshot.rows(group.index)
        known = snapshot.issued[rows] != UNKNOWN
        if group.index in shown or not known.any():
            continue
        if snapshot.done[rows].max() > snapshot.issued[rows][known].min():
            snapshot.has_p2p[rows] = True
            snapshot.issued[rows] = UNKNOWN
            snapshot.pending[rows] = NOTHING
            snapshot.done[rows] = UNKNOWN


def _fill(snapshot: Snapshot, index: int, digest: RankDigest, carry_rooted: Set[int]) -> bool:
    """One digest's rows of the flat tables; True when counters were paired by order."""
    rank = int(snapshot.ranks[index])
    counters = {row.key: row for row in digest.counters}
    groups = snapshot.membership.stream_groups[index]
    filled = set()
    for stream, group in zip(digest.streams, groups, strict=True):
        counter = counters.pop(str(stream.pg_id), None)
        row = snapshot.row(group, rank) if group >= 0 else -1
        if row < 0:
            continue
        filled.add(group)
        mixed = bool(snapshot.has_p2p[row])
        issued = int(snapshot.issued[row])
        if counter is not None and not mixed:
            issued = max(issued, stream.last, counter.enqueued or 0)
            if counter.started is not None:
                snapshot.started[row] = counter.started
        elif digest.partial is None:
            # Where a record that was cut ends, it tells nothing of its rank.
            issued = max(issued, stream.last)
        snapshot.issued[row] = issued
        if stream.pending != MISSING:
            snapshot.pending[row] = min(snapshot.pending[row], stream.pending)
        snapshot.done[row] = max(snapshot.done[row], stream.done, UNKNOWN)
        if digest.eventless and stream.finished != MISSING and digest.last_unit is not None:
            # Retired may mean "failed" for the last operation of all.
            last = digest.last_unit
            if last.stream < len(groups) and groups[last.stream] == group:
                snapshot.done[row] = min(snapshot.done[row], last.seq - 1)
        if counter is not None and not mixed and not digest.eventless:
            if group not in carry_rooted:
                snapshot.done[row] = max(snapshot.done[row], counter.completed or 0)
            # The ring may have lost this group's oldest unfinished operation: it has wrapped, and
            # nothing that it still holds of the group is finished.
            wrapped = digest.first_record_id != 0 and not snapshot.only_active
            lost_oldest = wrapped and digest.partial is None and stream.pending == stream.first
            if lost_oldest and stream.pending != MISSING and counter.completed is not None:
                snapshot.pending[row] = min(snapshot.pending[row], max(counter.completed, 0) + 1)
            lacks_entries = not digest.has_entries and not snapshot.only_active
            if (digest.partial is not None or lacks_entries) and counter.enqueued is not None:
                _open_from_counters(snapshot, row, counter, proves=group not in carry_rooted)
    return _fill_from_counters(snapshot, index, digest, counters, filled, carry_rooted)


def _mark_never_entered(snapshot: Snapshot) -> None:
    """Members whose dump would know of the group and does not: they never entered it.

    A group stands in a rank's table once its communicator exists, and in its
    entries unless the ring has wrapped. A rank that has recorded nothing counts nothing
    either, where the others do.
    """
    counted = any(digest.counters for digest in snapshot.digests)
    for group in snapshot.groups:
        rows = snapshot.rows(group.index)
        silent = (snapshot.issued[rows] == UNKNOWN) & (snapshot.member_digest[rows] >= 0)
        for row in (np.flatnonzero(silent) + group.first).tolist():
            index = int(snapshot.member_digest[row])
            digest = snapshot.digests[index]
            if digest.partial is not None:
                continue
            unlisted = bool(digest.groups) and group.index not in (
                snapshot.membership.listed[index].values()
            )
            whole = digest.first_record_id == 0 and (
                digest.num_entries > 0 or (counted and not digest.counters)
            )
            if (unlisted and not group.inferred) or whole:
                snapshot.issued[row] = 0


def _open_from_counters(snapshot: Snapshot, row: int, counter: Counters, *, proves: bool) -> None:
    """Where entries were lost, the counters say what is unfinished. ``proves``: what one member
    has finished, all others have issued.
    """
    enqueued, completed = counter.enqueued or 0, counter.completed
    if completed is None:
        return
    if proves:
        snapshot.done[row] = max(snapshot.done[row], completed)
    if enqueued > max(completed, 0) and snapshot.pending[row] == NOTHING:
        snapshot.pending[row] = max(completed, 0) + 1


def _fill_from_counters(
    snapshot: Snapshot,
    index: int,
    digest: RankDigest,
    counters: dict[str, Counters],
    filled: set[int],
    carry_rooted: Set[int],
) -> bool:
    """Groups without entries: paired with the counters that are left, in numeric order."""
    rank = int(snapshot.ranks[index])
    listed = snapshot.membership.listed[index]
    open_groups = [(name, group) for name, group in listed.items() if group not in filled]
    if not open_groups:
        return False
    rest = sorted(counters.values(), key=lambda row: _get_numeric_key(row.key))
    open_groups.sort(key=lambda pair: _get_numeric_key(pair[0]))
    paired = len(rest) == len(open_groups) and (filled or len(rest) > 0)
    # Entries in the ring, none of them of a group, and no counter: it may have left the window
    # long ago.
    for (_, group), counter in zip(open_groups, rest, strict=True) if paired else ():
        row = snapshot.row(group, rank)
        if row < 0 or snapshot.has_p2p[row] or counter.enqueued is None:
            continue
        snapshot.issued[row] = max(counter.enqueued, 0)
        if counter.started is not None:
            snapshot.started[row] = counter.started
        if not digest.eventless and not (snapshot.only_active and digest.partial is None):
            _open_from_counters(snapshot, row, counter, proves=group not in carry_rooted)
    return bool(paired) and not digest.num_entries and len(rest) > 1


def _get_numeric_key(key: str) -> tuple[int, int, str]:
    return (0, int(key), "") if key.isascii() and key.isdigit() else (1, 0, key)


def _leave_out_finished(digests: Sequence[RankDigest]) -> bool:
    """Whether the dumps hold unfinished operations only.

    Then records are missing in between, or the oldest ones although the ring cannot have
    been full: it holds more elsewhere, or so few as no ring does.
    """
    whole = [digest for digest in digests if digest.partial is None and digest.num_entries]
    if any(digest.gaps for digest in whole):
        return True
    begun = {digest.num_entries for digest in whole if digest.first_record_id > 0}
    if not begun or any(digest.history.any_finished for digest in whole):
        return False
    most = max(digest.num_entries for digest in whole)
    return min(begun) < most or most < _LEAST_RING


# Where each rank is stuck: entries say it where they hold it; counters do where a record was cut,
# or where its ring has wrapped. Gloo retires an operation whose peer has gone, and its rank is
# stuck there all the same.

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
    rows = snapshot.rows(group)
    entered = not p2p and bool((snapshot.issued[rows] >= seq).all())
    return entered and bool((snapshot.pending[rows] > seq).any())


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
        common = (place for place in places if (place.group, place.seq) in shared)
        first = _select_first_for_others(snapshot, places)
        snapshot.stuck[index] = first or next(common, stuck)


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
        behind = (snapshot.issued[rows] >= 0) & (snapshot.issued[rows] < last.seq)
        if not behind.any():
            if not (snapshot.member_digest[rows] < 0).any():
                continue
            # Where no rank issued anything beyond this one, the job may simply have ended.
            others = (one for k, one in enumerate(snapshot.stuck) if k != index)
            ends = map(snapshot.last_place, range(len(snapshot.digests)))
            if all(one is None or one.broken for one in others) and len(set(ends)) == 1:
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
        for row in np.flatnonzero(silent & (past.seq > least[past.stream]))[:1].tolist():
            place = Stuck(groups[int(past.stream[row])], int(past.seq[row]), p2p=False, broken=True)
            snapshot.stuck[index] = place


def _find_least_issued(snapshot: Snapshot, group: int) -> int:
    """The number up to which every member that is known has issued the collectives of a group."""
    if group < 0:
        return NOTHING
    issued = snapshot.issued[snapshot.rows(group)]
    return int(issued[issued >= 0].min(initial=NOTHING))
