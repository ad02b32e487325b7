"""The job at the moment of the dumps: per group and member, how far each came.

Flat tables hold one row per (group, member), so that 16,384 ranks are a few
arrays. ``issued`` is the last collective a member put on its stream, ``pending``
the oldest one it has not finished. What nothing tells is UNKNOWN, which is not
the same as zero: a ring that wrapped has forgotten, a group without a
communicator was never entered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from triage.analysis.groups import MISSING, Group, Membership
from triage.domain.fleet import Job
from triage.parsers.flight_recorder.digest import Counters, OpDescription, RankDigest
from triage.parsers.flight_recorder.reduce import (
    FINISHED,
    P2P,
    S_DONE,
    S_FINISHED,
    S_FIRST,
    S_LAST,
    S_P2P,
    S_PENDING,
    S_PG_ID,
    U_FLAGS,
    U_SEQ,
    U_SIG,
    U_STARTED,
    U_STREAM,
)

__all__ = ["NOTHING", "UNKNOWN", "Snapshot", "Stuck", "build_snapshot"]

I64 = NDArray[np.int64]

UNKNOWN: Final = -1
NOTHING: Final = 1 << 62  # "no operation is pending"
# Members of a group that are asked in which order they issued what is open.
MAX_BESIDE: Final = 32
# Nobody keeps a ring of fewer entries than this.
LEAST_RING: Final = 10


@dataclass(frozen=True, slots=True)
class Stuck:
    """The operation a rank is stuck in: its oldest unfinished one.

    ``row`` is its place among the digest's pending units; None when only the
    counters tell of it (``inferred``), or when it ended with an error
    (``broken``: gloo retires an operation whose peer has gone).
    """

    group: int
    seq: int
    p2p: bool
    row: int | None = None
    inferred: bool = False
    broken: bool = False


@dataclass(slots=True)
class Snapshot:
    """What the detectors read."""

    digests: Sequence[RankDigest]
    ranks: I64
    membership: Membership
    operations: dict[int, OpDescription]
    job: Job
    node_of: Callable[[int], str | None]
    world: tuple[int, ...]
    member_rank: I64
    member_digest: I64
    issued: I64
    pending: I64
    done: I64
    started: I64
    has_p2p: NDArray[np.bool_]
    stuck: list[Stuck | None]
    index_of: dict[int, int]
    row_of: list[dict[int, int]]
    only_active: bool = False
    """Whether the dumps leave out what is finished."""
    apart: dict[int, str] = field(default_factory=dict)
    unread: frozenset[int] = frozenset()
    """Ranks whose dump is of another moment, with the reason: neither guilty nor witnesses."""
    notes: list[str] = field(default_factory=list)

    @property
    def groups(self) -> list[Group]:
        """All process groups."""
        return self.membership.groups

    def rows(self, group: int) -> slice:
        """The group's rows in the flat tables."""
        one = self.groups[group]
        return slice(one.first, one.first + len(one.ranks))

    def row(self, group: int, rank: int) -> int:
        """One member's row; -1 when the rank is no member."""
        return self.row_of[group].get(rank, -1)

    def digest_of(self, rank: int) -> RankDigest | None:
        """The rank's dump, unless it is missing or of another moment."""
        index = self.index_of.get(rank)
        return None if index is None or rank in self.apart else self.digests[index]

    def stuck_of(self, rank: int) -> Stuck | None:
        """Where a rank is stuck; None when it is idle, absent or apart."""
        index = self.index_of.get(rank)
        return None if index is None or rank in self.apart else self.stuck[index]

    def group_streams(self, index: int, group: int) -> list[int]:
        """The streams of digest ``index`` that are this group."""
        return [k for k, g in enumerate(self.membership.stream_groups[index]) if g == group]

    def signature(self, rank: int, group: int, seq: int) -> int | None:
        """Signature of collective ``seq`` of a group on one rank, while its record holds it."""
        index = self.index_of.get(rank)
        if index is None:
            return None
        digest = self.digests[index]
        for stream in self.group_streams(index, group):
            pending = digest.pending
            hit = (
                (pending[:, U_STREAM] == stream)
                & (pending[:, U_SEQ] == seq)
                & ((pending[:, U_FLAGS] & P2P) == 0)
            )
            if hit.any():
                return int(pending[np.argmax(hit), U_SIG])
            past = (
                (digest.unit_stream == stream)
                & (digest.unit_seq == seq)
                & ((digest.unit_flags & P2P) == 0)
            )
            if past.any():
                return int(digest.unit_sig[np.argmax(past)])
        return None

    def describe(self, sig: int | None) -> OpDescription | None:
        """What the operation with this signature is, if any dump said it."""
        return None if sig is None else self.operations.get(sig)


def build_snapshot(
    digests: Sequence[RankDigest],
    ranks: Sequence[int],
    membership: Membership,
    operations: dict[int, OpDescription],
    job: Job,
    node_of: Callable[[int], str | None],
) -> Snapshot:
    """Fill the tables from the digests, which are one per rank and ascending."""
    size = sum(len(group.ranks) for group in membership.groups)
    member_rank = np.empty(size, np.int64)
    for group in membership.groups:
        member_rank[group.first : group.first + len(group.ranks)] = group.ranks
    index_of = {rank: index for index, rank in enumerate(ranks)}
    count = membership.world_size or job.world_size or 0
    listed = set(ranks).union(*(group.ranks for group in membership.groups))
    world = tuple(sorted(listed | set(range(count))))
    snapshot = Snapshot(
        digests=digests,
        ranks=np.array(ranks, np.int64),
        membership=membership,
        operations=operations,
        job=job,
        node_of=node_of,
        world=world,
        member_rank=member_rank,
        member_digest=np.full(size, -1, np.int64),
        issued=np.full(size, UNKNOWN, np.int64),
        pending=np.full(size, NOTHING, np.int64),
        done=np.full(size, UNKNOWN, np.int64),
        started=np.full(size, UNKNOWN, np.int64),
        has_p2p=np.zeros(size, np.bool_),
        stuck=[],
        index_of=index_of,
        row_of=[
            {rank: group.first + place for place, rank in enumerate(group.ranks)}
            for group in membership.groups
        ],
        only_active=leave_out_finished(digests),
        notes=list(membership.notes),
    )
    for group in membership.groups:
        places = [index_of.get(rank, -1) for rank in group.ranks]
        snapshot.member_digest[snapshot.rows(group.index)] = places
    snapshot.has_p2p[:] = groups_with_p2p(snapshot)
    inferred = 0
    for index, digest in enumerate(digests):
        inferred += fill(snapshot, index, digest)
    forget_p2p_counters(snapshot)
    never_entered(snapshot)
    if inferred:
        snapshot.notes.append(
            f"{inferred} dumps hold no entry that names a group of their counters: which group a"
            " counter belongs to was inferred from the order of both tables"
        )
    capacity = 0 if snapshot.only_active else ring_size(digests)
    snapshot.stuck = [stuck_in(snapshot, index, capacity) for index in range(len(digests))]
    prefer_shared_places(snapshot)
    break_gloo(snapshot)
    return snapshot


def groups_with_p2p(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Rows of groups that carry send/recv on any rank: their counters mix two counts.

    An only-active dump of one stage may show none, so groups of the same kind count.
    """
    descs = set()
    found = set()
    for digest, groups in zip(snapshot.digests, snapshot.membership.stream_groups, strict=True):
        for k in np.flatnonzero(digest.streams[:, S_P2P] > 0).tolist():
            if groups[k] >= 0:
                found.add(groups[k])
                descs.add(snapshot.groups[groups[k]].desc)
    mixed = np.zeros(len(snapshot.issued), np.bool_)
    for group in snapshot.groups:
        if group.index in found or (group.desc and group.desc in descs):
            mixed[snapshot.rows(group.index)] = True
    return mixed


def forget_p2p_counters(snapshot: Snapshot) -> None:
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


def fill(snapshot: Snapshot, index: int, digest: RankDigest) -> bool:
    """One digest's rows of the flat tables; True when counters were paired by order."""
    rank = int(snapshot.ranks[index])
    counters = {row.key: row for row in digest.counters}
    streams = digest.streams.tolist()
    groups = snapshot.membership.stream_groups[index]
    filled = set()
    for values, group in zip(streams, groups, strict=True):
        if group < 0:
            continue
        row = snapshot.row(group, rank)
        if row < 0:
            continue
        filled.add(group)
        counter = counters.pop(str(values[S_PG_ID]), None)
        mixed = bool(snapshot.has_p2p[row])
        issued = max(snapshot.issued[row], values[S_LAST])
        if counter is not None and not mixed:
            issued = max(issued, counter.enqueued or 0)
            if counter.started is not None:
                snapshot.started[row] = counter.started
        snapshot.issued[row] = max(issued, 0)
        if values[S_PENDING] != MISSING:
            snapshot.pending[row] = min(snapshot.pending[row], values[S_PENDING])
        snapshot.done[row] = max(snapshot.done[row], values[S_DONE], UNKNOWN)
        if digest.eventless and values[S_FINISHED] != MISSING and digest.last_unit is not None:
            # Retired may mean "failed" for the last operation of all.
            last = digest.last_unit
            if last[U_STREAM] < len(groups) and groups[last[U_STREAM]] == group:
                snapshot.done[row] = min(snapshot.done[row], last[U_SEQ] - 1)
        if counter is not None and not mixed and not digest.eventless:
            snapshot.done[row] = max(snapshot.done[row], counter.completed or 0)
            if out_of_ring(snapshot, digest, values) and counter.completed is not None:
                snapshot.pending[row] = min(snapshot.pending[row], max(counter.completed, 0) + 1)
            if entries_lost(snapshot, digest) and counter.enqueued is not None:
                open_from_counters(snapshot, row, counter)
    return fill_from_counters(snapshot, index, digest, counters, filled)


def out_of_ring(snapshot: Snapshot, digest: RankDigest, stream: list[int]) -> bool:
    """Whether the ring may have lost this group's oldest unfinished operation: it has
    wrapped, and nothing that it still holds of the group is finished.
    """
    if digest.first_record_id == 0 or snapshot.only_active or digest.partial is not None:
        return False
    return stream[S_PENDING] != MISSING and stream[S_PENDING] == stream[S_FIRST]


def never_entered(snapshot: Snapshot) -> None:
    """Members whose dump would know of the group and does not: they never entered it.

    A group stands in a rank's table once its communicator exists, and in its
    entries unless the ring has wrapped.
    """
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
            whole = digest.num_entries > 0 and digest.first_record_id == 0
            if (unlisted and not group.inferred) or whole:
                snapshot.issued[row] = 0


def open_from_counters(snapshot: Snapshot, row: int, counter: Counters) -> None:
    """Where entries were lost, the counters say what is unfinished."""
    enqueued, completed = counter.enqueued or 0, counter.completed
    if completed is None:
        return
    snapshot.done[row] = max(snapshot.done[row], completed)
    if enqueued > max(completed, 0) and snapshot.pending[row] == NOTHING:
        snapshot.pending[row] = max(completed, 0) + 1


def fill_from_counters(
    snapshot: Snapshot,
    index: int,
    digest: RankDigest,
    counters: dict[str, Counters],
    filled: set[int],
) -> bool:
    """Groups without entries: paired with the counters that are left, in numeric order."""
    rank = int(snapshot.ranks[index])
    listed = snapshot.membership.listed[index]
    open_groups = [(name, group) for name, group in listed.items() if group not in filled]
    if not open_groups:
        return False
    rest = sorted(counters.values(), key=lambda row: numeric(row.key))
    open_groups.sort(key=lambda pair: numeric(pair[0]))
    paired = len(rest) == len(open_groups) and (filled or len(rest) > 0)
    for position, (_, group) in enumerate(open_groups):
        row = snapshot.row(group, rank)
        if row < 0 or snapshot.has_p2p[row]:
            continue
        if not paired:
            # Entries in the ring, none of them of this group, and no counter:
            # the group may have left the window long ago.
            continue
        counter = rest[position]
        if counter.enqueued is None:
            continue
        snapshot.issued[row] = max(counter.enqueued, 0)
        if counter.started is not None:
            snapshot.started[row] = counter.started
        if not digest.eventless and not (snapshot.only_active and digest.partial is None):
            open_from_counters(snapshot, row, counter)
    return bool(paired) and not digest.num_entries and len(rest) > 1


def numeric(key: str) -> tuple[int, int, str]:
    return (0, int(key), "") if key.isascii() and key.isdigit() else (1, 0, key)


def stuck_in(snapshot: Snapshot, index: int, capacity: int) -> Stuck | None:
    """The oldest unfinished operation of one rank."""
    digest = snapshot.digests[index]
    groups = snapshot.membership.stream_groups[index]
    if all_unfinished(digest, capacity) and (candidates := counter_places(snapshot, index)):
        return candidates[0]
    for row, unit in enumerate(digest.pending.tolist()):
        group = groups[unit[U_STREAM]] if unit[U_STREAM] < len(groups) else -1
        if group < 0:
            continue
        p2p = bool(unit[U_FLAGS] & P2P)
        if digest.eventless and everyone_is_through(snapshot, group, unit[U_SEQ], p2p=p2p):
            continue
        return Stuck(group, unit[U_SEQ], p2p, row)
    if digest.partial is None and (digest.num_entries or snapshot.only_active):
        return None
    candidates = counter_places(snapshot, index)
    return candidates[0] if candidates else None


def leave_out_finished(digests: Sequence[RankDigest]) -> bool:
    """Whether the dumps hold unfinished operations only.

    Then records are missing in between, or the oldest ones although the ring cannot have
    been full: it holds more elsewhere, or so few as no ring does.
    """
    whole = [digest for digest in digests if digest.partial is None and digest.num_entries]
    if any(digest.gaps for digest in whole):
        return True
    begun = {digest.num_entries for digest in whole if digest.first_record_id > 0}
    if not begun or any(((digest.unit_flags & FINISHED) != 0).any() for digest in whole):
        return False
    most = max(digest.num_entries for digest in whole)
    return min(begun) < most or most < LEAST_RING


def ring_size(digests: Sequence[RankDigest]) -> int:
    """How many entries a ring that has wrapped holds; 0 where nothing says it.

    A ring that has wrapped is full, and all are of one size.
    """
    full = {digest.num_entries for digest in digests if digest.first_record_id > 0}
    return full.pop() if len(full) == 1 else 0


def entries_lost(snapshot: Snapshot, digest: RankDigest) -> bool:
    """Whether a record lacks operations that are not finished."""
    if digest.partial is not None:
        return True
    return not digest.has_entries and not snapshot.only_active


def all_unfinished(digest: RankDigest, capacity: int) -> bool:
    """Whether the ring has wrapped and holds nothing that is finished: then what the
    rank is stuck in may have left it, and the counters know better.
    """
    done = (digest.unit_flags & FINISHED) != 0
    wrapped = digest.first_record_id > 0 and digest.num_entries == capacity
    return wrapped and not digest.eventless and not done.any()


def everyone_is_through(snapshot: Snapshot, group: int, seq: int, *, p2p: bool) -> bool:
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


def counter_places(snapshot: Snapshot, index: int) -> list[Stuck]:
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
        places = counter_places(snapshot, index)
        first = first_for_others(snapshot, places)
        if first is not None:
            snapshot.stuck[index] = first
            continue
        for place in places:
            if (place.group, place.seq) in shared:
                snapshot.stuck[index] = place
                break


def first_for_others(snapshot: Snapshot, places: Sequence[Stuck]) -> Stuck | None:
    """The one of ``places`` that a rank beside has issued first, of all that it has open too."""
    if len(places) < 2:
        return None
    of = {(snapshot.groups[place.group].desc, place.seq): place for place in places}
    beside = dict.fromkeys(
        rank for place in places for rank in snapshot.groups[place.group].ranks[:MAX_BESIDE]
    )
    most: list[Stuck] = []
    for rank in beside:
        index = snapshot.index_of.get(rank)
        if index is None or snapshot.digests[index].partial is not None:
            continue
        digest = snapshot.digests[index]
        groups = snapshot.membership.stream_groups[index]
        told = []
        for unit in digest.pending.tolist():
            group = groups[unit[U_STREAM]]
            if group >= 0 and not unit[U_FLAGS] & P2P:
                place = of.get((snapshot.groups[group].desc, unit[U_SEQ]))
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
        if last[U_STREAM] >= len(groups) or last[U_FLAGS] & P2P:
            continue
        group = groups[last[U_STREAM]]
        if group < 0:
            continue
        rows = snapshot.rows(group)
        absent = snapshot.member_digest[rows] < 0
        behind = (snapshot.issued[rows] >= 0) & (snapshot.issued[rows] < last[U_SEQ])
        if behind.any() or (absent.any() and not finished_elsewhere(snapshot, index)):
            snapshot.stuck[index] = Stuck(group, last[U_SEQ], p2p=False, broken=True)


def finished_elsewhere(snapshot: Snapshot, index: int) -> bool:
    """Whether no rank issued anything beyond this one: then the job may simply have ended."""
    return all(
        stuck is None or (snapshot.digests[k].eventless and stuck.broken)
        for k, stuck in enumerate(snapshot.stuck)
        if k != index
    ) and same_end(snapshot)


def same_end(snapshot: Snapshot) -> bool:
    ends = set()
    for index, digest in enumerate(snapshot.digests):
        if digest.last_unit is None:
            return False
        group = snapshot.membership.stream_groups[index][digest.last_unit[U_STREAM]]
        desc = snapshot.groups[group].desc if group >= 0 else ""
        ends.add((desc, digest.last_unit[U_SEQ]))
    return len(ends) == 1


def pending_started(digest: RankDigest) -> int | None:
    """When the oldest unfinished operation was seen on the device, ns; None without timing."""
    if not len(digest.pending) or digest.pending[0, U_STARTED] == MISSING:
        return None
    return int(digest.pending[0, U_STARTED])
