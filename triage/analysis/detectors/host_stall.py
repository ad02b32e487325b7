"""Host stall: a rank whose host stopped issuing work.

Everything it issued is done, its peers are beyond, and it issues nothing more: data loader, lock,
garbage collection, exception, checkpoint, a branch that the others did not take. Assumes that a
communicator exists: a set-up that hangs looks the same (see setup_hang.py).
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from triage.analysis.waiting.case import Case, describe_waiting
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import ANY_CAUSE, SOFTWARE, Category, Role, VerdictKind
from triage.domain.finding import Finding

NAME: Final = "fr.host_stall"

# More idle ends than this, beyond a few nodes' worth, are not many independent stalls.
_MAX_CULPRITS = 16
# Where so many of a group stand idle, and so many times those that went on, these are as odd.
_MIN_LEFT = 3
_MOST_LEFT = 2


def find_host_stalls(case: Case) -> Iterator[Finding]:
    """One finding per idle rank that others wait for.

    Silent: when nobody waits for an idle rank, and where its record is cut and may have lost
    what it waits in.
    """
    idle = [
        (end, places[0])
        for end, places in case.ends()
        if places[0].kind is PlaceKind.IDLE and not _may_wait(case, places[0])
    ]
    left = {place.waiting[0] for _, place in idle}
    alone = _find_ranks_ahead(case, left)
    for end, place in idle:
        convicted = len(idle) <= _MAX_CULPRITS and not alone
        yield _make_claim(case, end, place, convicted=convicted)
    if alone:
        yield _make_ahead_claim(case, alone, left)


def _make_ahead_claim(case: Case, alone: Sequence[int], left: Collection[int]) -> Finding:
    """The claim on the few that went on: they may have issued what nobody else does."""
    reasons = []
    for rank in alone[:3]:
        where = case.place_text(case.graph.places[case.graph.place_of[rank]])
        text = (
            f"it went on to {where}, and {len(left)} of its peers stand idle before it: either"
            " it issued what nobody else does, or what stopped all of them left it out"
        )
        reasons += case.explain(NAME, text, rank, "the operation")
    return Finding(
        detector=NAME,
        explained_by=ANY_CAUSE - {Category.COLLECTIVE_MISMATCH} | SOFTWARE,
        kind=VerdictKind.HANG,
        category=Category.HOST_STALL,
        ranks=tuple(alone),
        strength=0.45,
        role=Role.POSSIBLE,
        summary="went on alone while most of its peers stand idle at one place",
        because=tuple(reasons),
    )


def _may_wait(case: Case, place: WaitPlace) -> bool:
    """Whether a record was cut before an operation that its counters call unfinished, or that
    no counter tells of: the other end of a send/recv.
    """
    digest = case.snapshot.digest_of(place.waiting[0])
    if digest is None or digest.partial is None:
        return False
    missed = all(waiter.kind is PlaceKind.P2P for waiter in case.waiters(place))
    # A group has more on its stream than it finished.
    return missed or any(
        one.completed is not None and 0 <= one.completed < (one.enqueued or 0)
        for one in digest.counters
    )


def _make_claim(case: Case, end: int, place: WaitPlace, *, convicted: bool) -> Finding:
    rank = place.waiting[0]
    digest = case.snapshot.digest_of(rank)
    reasons = []
    for waiter in case.waiters(place)[:3]:
        row = case.snapshot.row(waiter.group, rank)
        issued = int(case.snapshot.issued[row]) if row >= 0 else -1
        came = f"it came to {issued}" if issued >= 0 else "it never entered"
        if waiter.kind is PlaceKind.P2P:
            came = "it has not issued the other end"
        text = (
            f"{describe_waiting(len(waiter.waiting))} in {case.place_text(waiter)}; {came},"
            " and everything it issued is done"
        )
        reasons.append(case.because(NAME, text, rank, at=case.stopped_at(rank)))
    last = digest.last_unit if digest is not None else None
    if digest is not None and last is not None:
        text = f"last issued: entry {last.entry}, sequence number {last.seq}"
        reasons.append(case.because(NAME, text, rank, at=case.stopped_at(rank)))
    reasons += case.stack_reason(NAME, rank, "the last operation came from")
    whole = digest is not None and digest.partial is None
    strength = (0.95 if whole else 0.88) if convicted else 0.3
    return Finding(
        detector=NAME,
        kind=VerdictKind.HANG,
        category=Category.HOST_STALL,
        ranks=(rank,),
        strength=strength,
        role=Role.CULPRIT if convicted else Role.POSSIBLE,
        summary="stopped issuing work on the host while its peers went on",
        because=tuple(reasons),
        end=end,
    )


def _find_ranks_ahead(case: Case, idle: Collection[int]) -> list[int]:
    """The few members of a group that wait in one operation while most of it stands idle.

    That many processes do not stop independently at one place: those that went on are as odd.
    """
    for place in case.graph.places:
        if place.kind is not PlaceKind.COLLECTIVE:
            continue
        left = sum(rank in idle for rank in place.missing)
        entered = len(place.waiting) + len(place.held) + len(place.through)
        if left >= _MIN_LEFT and left > _MOST_LEFT * entered:
            return sorted(place.waiting)
    return []
