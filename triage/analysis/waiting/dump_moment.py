"""When a rank was dumped, as its own record tells it.

What has ended is retired by the watchdog within about 100 ms, and what the dump itself noticed
carries the time of the dump, as does the start of an unfinished operation where timing is on.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.snapshots.snapshot import Snapshot
from triage.domain.rank_digest import (
    FINISHED,
    MISSING,
    RETIRED_BIT,
    RankDigest,
)

__all__ = ["MIN_STUCK_NS", "PAUSES", "DumpMoment", "counters_lag", "dump_moment"]

# A wait shorter than this is no hang, whatever the ring says.
MIN_STUCK_NS: Final = 1_000_000_000


# ... nor one that is not much longer than the job's own longest pause.
PAUSES: Final = 3


# Issued longer ago than this, an operation that the watchdog has not retired tells of a
# watchdog that is stuck; a host runs ahead by less.
MAX_AHEAD_NS: Final = 30_000_000_000


# What a rank finishes beside an operation that is older than this is another thread's.
MAX_BESIDE_NS: Final = 60_000_000_000


@dataclass(frozen=True, slots=True)
class DumpMoment:
    """A dump whose moment is known. ``quiet_ns`` before it nothing had ended on this rank;
    ``ended``: the rank finished something right before it.
    """

    rank: int
    quiet_ns: int
    pause_ns: int
    ended: bool


def dump_moment(digest: RankDigest, rank: int, *, waits: bool) -> DumpMoment | None:
    """The moment of a dump, as the rank's own record tells it; None where nothing does."""
    started = int(digest.pending.started[0]) if waits and len(digest.pending) else MISSING
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
    pause = int(np.diff(np.sort(ends)).max(initial=0)) if len(ends) > 1 else 0
    pause = max(pause, digest.max_gap_ns)
    if noticed:
        issued = past.created[fresh]
        pulled = int((issued + past.wait_us[fresh].astype(np.int64) * 1000).max())
        noticed = pulled - int(issued.max()) < max(MAX_AHEAD_NS, PAUSES * pause)
    if started == MISSING and not noticed:
        return None
    if started != MISSING:
        pulled = started
    if not waits or not len(digest.pending):
        return DumpMoment(rank, 0, pause, ended=True) if noticed else None
    oldest = digest.pending[0]
    stream = past.stream[done] == oldest.stream
    beside = pulled - max(int(oldest.created), int(ends[stream].max(initial=0)))
    last = int(ends.max(initial=0))
    quiet = 0 if noticed else pulled - max(int(oldest.created), last)
    if not done.any() and quiet < MAX_AHEAD_NS:
        # What ended before is left out: it may have been issued long before it could begin.
        quiet = min(quiet, max(MIN_STUCK_NS, PAUSES * pause) - 1)
    if beside >= max(MAX_BESIDE_NS, 10 * pause):
        return DumpMoment(rank, beside, pause, ended=False)
    return DumpMoment(rank, quiet, pause, ended=noticed)


def counters_lag(snapshot: Snapshot, index: int) -> bool:
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
