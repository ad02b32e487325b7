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
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.snapshots.snapshot import Snapshot
from triage.analysis.waiting.dump_moment import MIN_STUCK_NS, PAUSES, counters_lag, dump_moment
from triage.analysis.waiting.waits import PlaceKind, WaitGraph, WaitPlace
from triage.domain.rank_digest import (
    MISSING,
    ROOTED_BIT,
    STARTED_BIT,
    RankDigest,
)

__all__ = ["Live", "home", "live_picture", "timed"]

# From here on the dumps prove that the job moved ...
PROVED: Final = 0.9
# ... and from here on that is much likelier than a stop.
LIKELY: Final = 0.7
STOPPED: Final = 0.1
# Dumps of ranks that are further apart than this are of several attempts.
MAX_PULLING_NS: Final = 180_000_000_000
# As many ranks as a node commonly has, where no map is known.
NODE_RANKS: Final = 8
# A device that stopped may leave this many finished operations unreported.
UNREPORTED: Final = 2
# Fewer ranks than this, which wait for nobody, may wait in what is not recorded, or stopped too.
FREE_SHARE: Final = 0.2
FREE_LEAST: Final = 2


@dataclass(frozen=True, slots=True)
class Live:
    """How sure the dumps are that the job moved when they were taken.

    ``belief``: 1 proved moving, 0 proved stopped, 0.5 nothing says. ``reasons`` are clauses
    for people, the surest first.
    """

    belief: float = 0.5
    reasons: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether the job moved, whatever else is said of it."""
        return self.belief >= PROVED

    @property
    def likely(self) -> bool:
        """Whether what is unfinished is to be taken as in flight, not as stuck."""
        return self.belief >= LIKELY

    @property
    def stopped(self) -> bool:
        """Whether ranks are known to have waited for much longer than they ever do."""
        return self.belief <= STOPPED


def live_picture(snapshot: Snapshot, graph: WaitGraph, *, moving: bool) -> Live:
    """Judge the dumps; ``moving``: many of them contradict each other."""
    signs = [
        *dated(snapshot),
        *contradicting(snapshot, moving=moving),
        *before_it_began(snapshot, graph),
        *in_shape(snapshot, graph),
        *free_ranks(snapshot, graph),
    ]
    if not signs:
        return Live()
    signs.sort(key=lambda sign: -sign.belief)
    if signs[-1].stopped and not signs[0].proved:
        return signs[-1]
    return Live(signs[0].belief, tuple(reason for sign in signs for reason in sign.reasons))


def dated(snapshot: Snapshot) -> Iterator[Live]:
    """What the dumps say whose moment is known."""
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
        elif stuck is not None and counters_lag(snapshot, index):
            behind.append(rank)
    pause = max((pull.pause_ns for pull in pulls), default=0)
    pause = max(pause, max((digest.max_gap_ns for digest in snapshot.digests), default=0))
    limit = max(MIN_STUCK_NS, PAUSES * pause)
    long = [pull for pull in pulls if pull.quiet_ns >= limit]
    if long:
        most = max(pull.quiet_ns for pull in long) / 1e9
        yield Live(
            0.02, (f"{ranks_text(digest.rank for digest in long)} had waited for {most:.1f} s",)
        )
    elif pulls:
        ended = [pull.rank for pull in pulls if pull.ended]
        what = (
            f"{ranks_text(ended)} had finished an operation right before the dump"
            if ended
            else "what is unfinished was issued just before the dumps"
        )
        yield Live(0.97, (what,))
    elif behind:
        yield Live(
            0.9,
            (f"what {ranks_text(behind)} had finished was not counted yet",),
        )


def contradicting(snapshot: Snapshot, *, moving: bool) -> Iterator[Live]:
    """Ranks that were dumped one after the other while the job went on.

    One whose record ends long before or behind its peers' is of another attempt.
    """
    ends = {
        int(rank): digest.last_created_ns
        for rank, digest in zip(snapshot.ranks, snapshot.digests, strict=True)
        if digest.last_created_ns is not None
    }
    others = [ns for rank, ns in ends.items() if rank not in snapshot.apart]
    if not snapshot.apart or not others:
        return
    middle = int(np.median(others))
    if all(abs(ends.get(rank, middle) - middle) <= MAX_PULLING_NS for rank in snapshot.apart):
        reason = (
            f"{ranks_text(snapshot.apart)} contradict their peers: the dumps were taken one after"
            " the other while the job went on"
        )
        yield Live(0.95 if moving else 0.8, (reason,))


@dataclass(frozen=True, slots=True)
class EndsInFlight:
    """The ends of the waits that may be operations in flight, by what they look like."""

    entered: list[WaitPlace]
    """All members have entered it, and nobody is kept from finishing it."""
    partial: list[WaitPlace]
    """Some members have finished it, the others have entered it."""
    idle: list[WaitPlace]


def ends_of(snapshot: Snapshot, graph: WaitGraph) -> EndsInFlight:
    """The ends that are single places, sorted; of a record that was cut nothing is told."""
    ends = EndsInFlight([], [], [])
    for number in graph.ends:
        members = graph.components[number]
        place = graph.places[members[0]]
        if len(members) > 1 or not all(whole(snapshot, rank) for rank in place.waiting):
            continue
        if place.kind is PlaceKind.IDLE:
            ends.idle.append(place)
        elif place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P) and not (
            place.missing or place.absent or place.held
        ):
            (ends.partial if place.through else ends.entered).append(place)
    return ends


def whole(snapshot: Snapshot, rank: int) -> bool:
    """Whether a rank's record is there, and whole."""
    digest = snapshot.digest_of(rank)
    return digest is not None and digest.partial is None


def before_it_began(snapshot: Snapshot, graph: WaitGraph) -> Iterator[Live]:
    """With timing on: ranks that had not begun what their peers had finished with them.

    Their part in it was still to come, so that they were dumped earlier than their peers.
    """
    early: list[int] = []
    partial = ends_of(snapshot, graph).partial
    for place in partial:
        for rank in place.waiting:
            stuck = snapshot.stuck_of(rank)
            digest = snapshot.digest_of(rank)
            if stuck is None or stuck.row is None or digest is None or not timed(digest):
                continue
            flags = int(digest.pending.flags[stuck.row])
            if not flags & (STARTED_BIT | ROOTED_BIT):
                early.append(rank)
    if early:
        yield Live(0.92, (f"{ranks_text(early)} had not begun what the peers had finished",))
    left = [
        rank for place in ends_of(snapshot, graph).partial for rank in far_behind(snapshot, place)
    ]
    if left:
        yield Live(0.85, (f"peers had finished several operations more than {ranks_text(left)}",))


def far_behind(snapshot: Snapshot, place: WaitPlace) -> list[int]:
    """Who stands at a place beyond which peers have finished more operations of the group.

    They end in order and need all members, so that these ranks had a part in them. What
    a device that stopped did not report any more is one operation, or two.
    """
    rows = snapshot.rows(place.group)
    done = int(snapshot.done[rows].max(initial=-1))
    return place.waiting if done >= place.seq + UNREPORTED else []


def timed(digest: RankDigest) -> bool:
    """Whether the rank records when its device starts: else "scheduled" says nothing."""
    stamped = bool((digest.pending.started != MISSING).any())
    return stamped or any((row.started or -1) >= 0 for row in digest.counters)


def in_shape(snapshot: Snapshot, graph: WaitGraph) -> Iterator[Live]:
    """Whether the waits end in several places that have nothing to do with each other."""
    ends = ends_of(snapshot, graph)
    running = [*ends.entered, *ends.partial]
    count = len(running) + len(ends.idle)
    if not running or count < 2:
        return
    where = [homes(snapshot, place) for place in (*running, *ends.idle)]
    # One node may have a part in all of them: its link or its power holds them up.
    if frozenset.intersection(*where) and all(leaves(snapshot, place) for place in running):
        return
    yield Live(
        0.85,
        (
            f"the waits end in {count} places that do not wait for each other, and operations"
            " that all members have entered are among them",
        ),
    )


def homes(snapshot: Snapshot, place: WaitPlace) -> frozenset[str]:
    """The nodes whose failure can hold up a place: those of who has not finished it."""
    return frozenset(home(snapshot, rank) for rank in place.waiting)


def home(snapshot: Snapshot, rank: int) -> str:
    """The node of a rank, else its block of as many ranks as a node commonly has."""
    node = snapshot.node_of(rank)
    return node if node is not None else f"block {rank // NODE_RANKS}"


def leaves(snapshot: Snapshot, place: WaitPlace) -> bool:
    """Whether the group of a place has members on several nodes."""
    ranks = snapshot.groups[place.group].ranks
    first = home(snapshot, ranks[0])
    return any(home(snapshot, rank) != first for rank in ranks)


def free_ranks(snapshot: Snapshot, graph: WaitGraph) -> Iterator[Live]:
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
    if graph.ends and len(free) >= max(FREE_LEAST, FREE_SHARE * len(snapshot.digests)):
        yield Live(
            0.75,
            (f"{ranks_text(free)} had finished everything, and nobody waits for them",),
        )


def ranks_text(ranks: Iterable[int]) -> str:
    """``rank 3``, ``ranks 1, 2, 3 and 4 more``."""
    listed = sorted(ranks)
    shown = ", ".join(map(str, listed[:4]))
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return f"rank{'s' if len(listed) > 1 else ''} {shown}{more}"
