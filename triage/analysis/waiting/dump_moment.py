"""When a rank was dumped, as its own record tells it.

What has ended is retired by the watchdog within about 100 ms, and what the dump itself noticed
carries the time of the dump, as does the start of an unfinished operation where timing is on.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.snapshots.snapshot import Snapshot
from triage.domain.arrays import I64
from triage.domain.rank_digest import (
    FINISHED,
    MISSING,
    P2P,
    RETIRED_BIT,
    S_FINISHED,
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
