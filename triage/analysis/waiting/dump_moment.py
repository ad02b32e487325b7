"""When a rank was dumped, as its own record tells it.

What has ended is retired by the watchdog within about 100 ms, and what the dump itself noticed
carries the time of the dump, as does the start of an unfinished operation where timing is on.
"""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.snapshots.snapshot import NOTHING, Snapshot
from triage.analysis.waiting.waits import PlaceKind, WaitGraph, WaitPlace
from triage.domain.arrays import I64
from triage.domain.rank_digest import (
    FINISHED,
    MISSING,
    P2P,
    RETIRED_BIT,
    ROOTED_BIT,
    S_FINISHED,
    STARTED_BIT,
    Past,
    RankDigest,
    Unit,
)

# A wait shorter than this is no hang, whatever the ring says ...
_MIN_STUCK_NS: Final = 1_000_000_000
# ... nor is one that is shorter than so many of the job's pauses ...
_PAUSES: Final = 2
# ... of which one that was made once excuses no more than this ...
_MAX_EXCUSED_NS: Final = 30_000_000_000
# ... and all of them no more than this part of what its own timeout gives the operation.
_SHARE_OF_TIMEOUT: Final = 2
# Issued longer ago than this, an operation that the watchdog has not retired tells of a
# watchdog that is stuck; a host runs ahead by less.
_MAX_AHEAD_NS: Final = 30_000_000_000
# What a rank finishes beside an operation that is older than this is another thread's.
_MAX_BESIDE_NS: Final = 60_000_000_000


@dataclass(frozen=True, slots=True)
class DumpMoment:
    """A dump whose moment is known: ``pulled_ns`` by the rank's clock.

    ``quiet_ns`` before it nothing had ended on this rank; ``pause_ns`` is the longest pause that
    may be usual (:func:`usual_pause`); ``timeout_ns`` is what is given to what it waits in, 0 where
    nothing says it; ``ended``: the rank finished something right before it.
    """

    rank: int
    pulled_ns: int
    quiet_ns: int
    pause_ns: int
    timeout_ns: int
    ended: bool

    def waits_long(self, pause_ns: int) -> bool:
        """Whether it waits for longer than a job does that makes pauses of ``pause_ns``.

        A part of the timeout is too long in any case, unless pauses as long as that recur.
        """
        limit = max(_MIN_STUCK_NS, _PAUSES * pause_ns)
        if self.timeout_ns:
            most = max(self.timeout_ns // _SHARE_OF_TIMEOUT, min(pause_ns, self.timeout_ns))
            limit = min(limit, max(most, _MIN_STUCK_NS))
        return self.quiet_ns >= limit


def dump_moment(digest: RankDigest, rank: int, *, waits: bool) -> DumpMoment | None:
    """The moment of a dump, as the rank's own record tells it; None where nothing does."""
    oldest = digest.pending[0] if waits and len(digest.pending) else None
    started = MISSING if oldest is None else oldest.started
    if started == MISSING and not digest.history.any_fresh:
        return None  # told without unpacking the history, which is most of the work
    past = digest.history.read()
    fresh = (past.flags & (FINISHED | RETIRED_BIT)) == FINISHED
    # Where nothing was ever retired there is no watchdog that looks.
    fresh &= past.wait_us >= 0
    noticed = bool(fresh.any()) and bool((past.flags & RETIRED_BIT).any())
    if started == MISSING and not noticed:
        return None
    # What the dump itself noticed had ended at any time before.
    done = (past.flags & (FINISHED | RETIRED_BIT)) == FINISHED | RETIRED_BIT
    done &= past.wait_us >= 0
    ends = past.created[done] + past.wait_us[done].astype(np.int64) * 1000
    pause = _find_usual_pause(past, np.flatnonzero(done), ends, oldest)
    pulled = started
    if oldest is not None and started != MISSING:
        # An earlier dump dates the start of what it finds; this one is younger than all it holds.
        pulled = max(int(digest.pending.started.max()), digest.last_created_ns or 0)
    if noticed:
        issued = past.created[fresh]
        seen = int((issued + past.wait_us[fresh].astype(np.int64) * 1000).max())
        noticed = seen - int(issued.max()) < max(_MAX_AHEAD_NS, _PAUSES * pause)
        pulled = seen if started == MISSING else pulled
    if started == MISSING and not noticed:
        return None
    if oldest is None:
        return DumpMoment(rank, pulled, 0, pause, 0, ended=True) if noticed else None
    stream = past.stream[done] == oldest.stream
    beside = (pulled if started == MISSING else started) - max(
        oldest.created, int(ends[stream].max(initial=0))
    )
    last = int(ends.max(initial=0))
    quiet = 0 if noticed else pulled - max(oldest.created, last)
    if not done.any() and quiet < _MAX_AHEAD_NS:
        # What ended before is left out: it may have been issued long before it could begin.
        quiet = 0
    if beside >= max(_MAX_BESIDE_NS, 10 * pause):
        return DumpMoment(rank, pulled, beside, pause, oldest.timeout_ns, ended=False)
    return DumpMoment(rank, pulled, quiet, pause, oldest.timeout_ns, ended=noticed)


def _find_usual_pause(past: Past, done: I64, ends: I64, waits_in: Unit | None) -> int:
    """The longest pause that a rank makes again and again: one that was made twice, or the one
    before the only earlier operation like that which it waits in; else a short one.

    A first compilation, an evaluation, or a clock that was set is no rule.
    """
    if len(ends) < 2:
        return 0
    order = np.argsort(ends, kind="stable")
    pauses = np.diff(ends[order])
    usual = min(int(pauses.max()), _MAX_EXCUSED_NS // _PAUSES)
    if len(pauses) > 1:
        usual = max(usual, int(np.partition(pauses, -2)[-2]))
    if waits_in is not None:
        behind = done[order][1:]
        alike = past.sig[behind] == waits_in.sig
        alike &= (past.flags[behind] & P2P) == (waits_in.flags & P2P)
        if alike.sum() == 1:
            usual = max(usual, int(pauses[alike][0]))
    return usual


def has_retired_unfinished(digest: RankDigest) -> bool:
    """Whether the watchdog has given up a collective that is not finished.

    Gloo records no ends: there what is retired has ended. So it is where operations that later
    ones of their group have outlived are retired without an end: these are retired at their issue.
    """
    pending = digest.pending
    retired = (pending.flags & (RETIRED_BIT | P2P)) == RETIRED_BIT
    if digest.eventless or not retired.any():
        return False
    finished = digest.streams.values[pending.stream, S_FINISHED]
    ends = retired & (finished != MISSING)
    return bool(ends.any()) and not bool((ends & (pending.seq <= finished)).any())


def is_counter_behind(snapshot: Snapshot, index: int) -> bool:
    """Whether the watchdog had not yet counted the end of what came before a pending operation.

    Of a group with collectives alone: they end in order, so what stands before the oldest
    unfinished one has ended. A ring that has wrapped may have lost the oldest; it has not
    where it holds something that ended, or where the dumps leave that out.
    """
    digest = snapshot.digests[index]
    if digest.partial is not None:
        return False
    counters = {row.key: row for row in digest.counters}
    groups = snapshot.membership.stream_groups[index]
    for stream, group in zip(digest.streams, groups, strict=True):
        row = snapshot.row(group, int(snapshot.ranks[index])) if group >= 0 else -1
        counter = counters.get(str(stream.pg_id))
        if row < 0 or counter is None or snapshot.has_p2p[row] or stream.pending == MISSING:
            continue
        completed = counter.completed
        if not snapshot.only_active and stream.first == stream.pending:
            continue
        if completed is not None and 0 < completed < stream.pending - 1:
            return True
    return False


# The ends of the waits that may be operations in flight, and those at which ranks lie behind.
#
# Ranks that several finished operations separate from all their peers stand still, however fresh
# the dumps are: a collective that needs everybody is finished by nobody before each member had its
# part in it. Ranks that were dumped before the others look the same; but then more of them do, at
# places that have nothing to do with each other, and peers that were dumped one after the other
# stand one behind the other too.

# A device that stopped may leave this many finished operations unreported.
_UNREPORTED: Final = 2
# In a stop, members stand in so few places that others of their group have got through.
_MAX_PLACES: Final = 2
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
    return behind if still else []


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
