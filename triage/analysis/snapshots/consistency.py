"""Dumps that cannot be of the same moment.

A collective that needs all members is finished by nobody before everybody has
issued it. A rank whose record ends before what a peer has finished was dumped
earlier, or in another attempt. One such file is set apart; if many contradict
each other, the job was still moving while it was dumped.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from triage.analysis.snapshots.groups import Group
from triage.analysis.snapshots.snapshot import UNKNOWN, Snapshot
from triage.domain.arrays import I64, Flags

__all__ = ["set_apart"]

# Beyond this share of contradicting dumps none of them is "the stale one".
MOVING_SHARE = 0.2


def set_apart(snapshot: Snapshot) -> bool:
    """Mark stale dumps in ``snapshot.apart``; True when the job was still moving.

    Repeatedly takes out the ranks that contradict most others: a stale file
    contradicts all its peers, they contradict only it.
    """
    apart: list[int] = []
    while True:
        degrees = contradictions(snapshot, set(apart))
        worst = int(degrees.max(initial=0))
        if worst == 0:
            break
        marked = np.flatnonzero(degrees == worst)
        if len(marked) > 1 and worst == 1:
            marked = older_of(snapshot, marked)
        apart.extend(marked.tolist())
    if not apart:
        return False
    moving = len(apart) > max(1, MOVING_SHARE * len(snapshot.digests))
    for index in sorted(apart):
        rank = int(snapshot.ranks[index])
        snapshot.apart[rank] = "its record contradicts its peers': dumped at another time"
    ranks = sorted(snapshot.apart)
    shown = ", ".join(map(str, ranks[:8])) + (" ..." if len(ranks) > 8 else "")
    if moving:
        snapshot.notes.append(
            f"{len(ranks)} dumps contradict their peers' (ranks {shown}): the job was still"
            " running while it was dumped, or the folder holds several attempts"
        )
    else:
        snapshot.notes.append(
            f"the dump of rank {shown} is of another moment or an earlier attempt: its peers"
            " finished operations that it never issued, or it finished some that they never did;"
            " it is not used"
        )
    return moving


def contradictions(snapshot: Snapshot, without: set[int]) -> I64:
    """Per digest, how many peers' records contradict its own."""
    degrees = np.zeros(len(snapshot.digests), np.int64)
    gone = np.zeros(len(snapshot.digests) + 1, np.bool_)
    gone[list(without)] = True
    for group in snapshot.groups:
        for digest, count in in_group(snapshot, group, gone):
            degrees[digest] += count
    return degrees


def in_group(snapshot: Snapshot, group: Group, gone: Flags) -> Iterator[tuple[I64, I64]]:
    rows = snapshot.rows(group.index)
    digest = snapshot.member_digest[rows]
    issued = snapshot.issued[rows]
    usable = (digest >= 0) & ~gone[digest] & (issued != UNKNOWN)
    digest, issued = digest[usable], issued[usable]
    done = snapshot.done[rows][usable]
    if len(digest) < 2 or done.max(initial=0) <= issued.min():
        return
    sorted_done = np.sort(done)
    sorted_issued = np.sort(issued)
    ahead_of_me = len(done) - np.searchsorted(sorted_done, issued, side="right")
    behind_me = np.searchsorted(sorted_issued, done, side="left")
    yield digest, ahead_of_me + behind_me


def older_of(snapshot: Snapshot, marked: NDArray[np.intp]) -> NDArray[np.intp]:
    """Of two that contradict each other alone, the one whose record ends earlier."""
    ends = [snapshot.digests[int(index)].last_created_ns or 0 for index in marked]
    return marked[[int(np.argmin(ends))]]
