"""Whether the job still ran when its dumps were taken.

A dump pulled from a job that runs shows unfinished operations, as one of a hang does.
Four things tell them apart. *When a rank was dumped*: what has ended is retired by the
watchdog within about 100 ms, and what the dump itself noticed carries the time of the
dump, as does the start of an unfinished operation where timing is on. *Counters* that the
watchdog had not moved on yet. *Contradictions*: ranks that were dumped one after the
other, of which the later ones finished what the earlier ones had not issued. *The shape
of the waits*: a stop has one origin, and what all members have entered ends within
milliseconds; operations in flight in places that do not wait for each other do not go
with a stop. A picture that is consistent, quiet and waits for one rank may be either.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.analysis.snapshots.snapshot import Snapshot
from triage.analysis.waiting.dump_moment import (
    EndsInFlight,
    dump_moment,
    find_ends,
    find_home,
    find_left_behind,
    has_retired_unfinished,
    is_counter_behind,
    is_not_begun,
    list_far_behind,
)
from triage.analysis.waiting.waits import WaitGraph
from triage.domain.counts import list_some

# From here on the dumps prove that the job moved ...
_PROVED: Final = 0.9
# ... and from here on that is much likelier than a stop.
_LIKELY: Final = 0.7
_STOPPED: Final = 0.1
# Dumps of ranks that are further apart than this are of several attempts.
_MAX_PULLING_NS: Final = 180_000_000_000
# Fewer ranks than this, which wait for nobody, may wait in what is not recorded, or stopped too.
_FREE_SHARE: Final = 0.2
_FREE_LEAST: Final = 2


@dataclass(frozen=True, slots=True)
class Live:
    """How sure the dumps are that the job moved when they were taken.

    ``belief``: 1 proved moving, 0 proved stopped, 0.5 nothing says. ``reasons`` are clauses
    for people, the surest first.
    """

    belief: float = 0.5
    reasons: tuple[str, ...] = ()
    by_age: bool = False
    """Nothing says so but that what is unfinished is young: of a stop that may be too."""

    @property
    def proved(self) -> bool:
        """Whether the job moved, whatever else is said of it."""
        return self.belief >= _PROVED

    @property
    def likely(self) -> bool:
        """Whether what is unfinished is to be taken as in flight, not as stuck."""
        return self.belief >= _LIKELY

    @property
    def stopped(self) -> bool:
        """Whether ranks are known to have waited for much longer than they ever do."""
        return self.belief <= _STOPPED


def judge_live(snapshot: Snapshot, graph: WaitGraph, *, moving: bool) -> Live:
    """Judge the dumps; ``moving``: many of them contradict each other."""
    given_up = [
        int(rank)
        for rank, digest in zip(snapshot.ranks, snapshot.digests, strict=True)
        if int(rank) not in snapshot.apart and has_retired_unfinished(digest)
    ]
    if given_up:
        # The job had stopped, or ended so.
        who = format_ranks(given_up)
        return Live(0.0, (f"the watchdog of {who} had given up what is unfinished",))
    ends = find_ends(snapshot, graph)
    # What stands there is stuck, and no operation in flight.
    behind = find_left_behind(snapshot, graph, ends)
    ends = replace(ends, partial=[place for place in ends.partial if place not in behind])
    signs = [
        *_judge_dated(snapshot),
        *_judge_contradicting(snapshot, moving=moving),
        *_judge_before_it_began(snapshot, ends),
        *_judge_shape(snapshot, ends),
        *_judge_free_ranks(snapshot, graph),
    ]
    if not signs:
        return Live()
    signs.sort(key=lambda sign: -sign.belief)
    if signs[-1].stopped and not signs[0].proved:
        return signs[-1]
    reasons = tuple(reason for sign in signs for reason in sign.reasons)
    return Live(signs[0].belief, reasons, by_age=all(sign.by_age for sign in signs))


def _judge_dated(snapshot: Snapshot) -> Iterator[Live]:
    pulls = []
    behind = []
    for index, stuck in enumerate(snapshot.stuck):
        digest = snapshot.digests[index]
        rank = int(snapshot.ranks[index])
        if digest.eventless or rank in snapshot.apart:
            continue
        pull = dump_moment(digest, rank, waits=stuck is not None)
        if pull is not None:
            pulls.append(pull)
        elif stuck is not None and is_counter_behind(snapshot, index):
            behind.append(rank)
    # A pause of the job is one of all ranks; a clock that was set is one of a node.
    pauses = sorted(pull.pause_ns for pull in pulls)
    pause = pauses[len(pauses) // 2] if pauses else 0
    long = [pull for pull in pulls if pull.waits_long(pause)]
    # A clock that was set while a rank waits makes one wait long, and not most of them.
    ended = [pull.rank for pull in pulls if pull.ended]
    if long and 2 * len(long) >= len(pulls) - len(ended):
        most = max(pull.quiet_ns for pull in long) / 1e9
        who = format_ranks(pull.rank for pull in long)
        yield Live(0.02, (f"{who} had waited for {most:.1f} s",))
    elif ended:
        who = format_ranks(ended)
        yield Live(0.97, (f"{who} had finished an operation right before the dump",))
    elif pulls:
        yield Live(0.97, ("what is unfinished was issued just before the dumps",), by_age=True)
    elif behind:
        yield Live(0.9, (f"what {format_ranks(behind)} had finished was not counted yet",))


def _judge_contradicting(snapshot: Snapshot, *, moving: bool) -> Iterator[Live]:
    """Ranks that were dumped one after the other while the job went on.

    One whose record ends long before or behind its peers' is of another attempt.
    """
    ends = {
        int(rank): digest.last_created_ns
        for rank, digest in zip(snapshot.ranks, snapshot.digests, strict=True)
        if digest.last_created_ns is not None
    }
    # Where every rank contradicts others, none of them is the odd one.
    others = [ns for rank, ns in ends.items() if rank not in snapshot.apart] or list(ends.values())
    if not snapshot.apart or not others:
        return
    middle = int(np.median(others))
    if all(abs(ends.get(rank, middle) - middle) <= _MAX_PULLING_NS for rank in snapshot.apart):
        reason = (
            f"{format_ranks(snapshot.apart)} contradict their peers: the dumps were taken one after"
            " the other while the job went on"
        )
        yield Live(0.95 if moving else 0.8, (reason,))


def _judge_before_it_began(snapshot: Snapshot, ends: EndsInFlight) -> Iterator[Live]:
    """Ranks that were dumped earlier than their peers: their part was still to come in what these
    had finished, which timing tells; or they lie far behind, and no stop leaves them there.
    """
    early = [
        rank for place in ends.partial for rank in place.waiting if is_not_begun(snapshot, rank)
    ]
    if early:
        yield Live(0.92, (f"{format_ranks(early)} had not begun what the peers had finished",))
    if left := [rank for place in ends.partial for rank in list_far_behind(snapshot, place)]:
        yield Live(0.85, (f"peers had finished several operations more than {format_ranks(left)}",))


def _judge_shape(snapshot: Snapshot, ends: EndsInFlight) -> Iterator[Live]:
    """Whether the waits end in several places that have nothing to do with each other."""
    running = [*ends.entered, *ends.partial]
    count = len(running) + len(ends.idle)
    if not running or count < 2:
        return
    # One node may have a part in all of them: its link or its power holds them up.
    homes = [
        frozenset(find_home(snapshot, rank) for rank in place.waiting)
        for place in (*running, *ends.idle)
    ]
    members = [snapshot.groups[place.group].ranks for place in running]
    if frozenset.intersection(*homes) and all(
        len({find_home(snapshot, rank) for rank in ranks}) > 1 for ranks in members
    ):
        return
    yield Live(
        0.85,
        (
            f"the waits end in {count} places that do not wait for each other, and operations"
            " that all members have entered are among them",
        ),
    )


def _judge_free_ranks(snapshot: Snapshot, graph: WaitGraph) -> Iterator[Live]:
    """Ranks that have finished all they issued, and for whom nobody waits: no part of a stop."""
    waited = {
        rank
        for number in graph.ends
        for k in graph.components[number]
        for rank in graph.places[k].waiting
    }
    free = [
        int(rank)
        for rank, stuck, digest in zip(
            snapshot.ranks, snapshot.stuck, snapshot.digests, strict=True
        )
        if stuck is None
        and digest.partial is None
        and int(rank) not in waited
        and int(rank) not in snapshot.apart
    ]
    if graph.ends and len(free) >= max(_FREE_LEAST, _FREE_SHARE * len(snapshot.digests)):
        yield Live(
            0.75, (f"{format_ranks(free)} had finished everything, and nobody waits for them",)
        )


def format_ranks(ranks: Iterable[int]) -> str:
    """``rank 3``, ``ranks 1, 2, 3 and 4 more``."""
    listed = [str(rank) for rank in sorted(ranks)]
    return f"rank{'s' if len(listed) > 1 else ''} {list_some(listed, 4)}"
