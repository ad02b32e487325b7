"""Host stall: a rank whose host stopped issuing work.

Everything it issued is done, its peers are beyond, and it issues nothing more:
data loader, lock, garbage collection, exception, checkpoint, a branch that the
others did not take. Assumes that a communicator exists: a set-up that hangs
looks the same (see setup_hang.py).
"""

from collections.abc import Iterator

from triage.analysis.waiting.case import Case, ranks_wait
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import ANY_CAUSE, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.rank_digest import Counters

__all__ = ["HostStall"]

# More idle ends than this, beyond a few nodes' worth, are not many independent stalls.
MAX_CULPRITS = 16


class HostStall:
    """One finding per idle rank that others wait for.

    Silent: when nobody waits for an idle rank, and where its record is cut and may have lost
    what it waits in.
    """

    name = "fr.host_stall"
    explains: frozenset[Category] = ANY_CAUSE - {Category.COLLECTIVE_MISMATCH}
    runs_in_flight = False
    is_gap = False

    def run(self, case: Case) -> Iterator[Finding]:
        """The findings on ``case``."""
        idle = [
            (end, places[0])
            for end, places in case.ends()
            if places[0].kind is PlaceKind.IDLE and not self.may_wait(case, places[0])
        ]
        for end, place in idle:
            yield self.finding(case, end, place, convicted=len(idle) <= MAX_CULPRITS)

    @staticmethod
    def may_wait(case: Case, place: WaitPlace) -> bool:
        """Whether a record was cut before an operation that its counters call unfinished, or that
        no counter tells of: the other end of a send/recv.
        """
        digest = case.snapshot.digest_of(place.waiting[0])
        if digest is None or digest.partial is None:
            return False
        missed = all(waiter.kind is PlaceKind.P2P for waiter in case.waiters(place))
        return missed or any(is_open(one) for one in digest.counters)

    def finding(self, case: Case, end: int, place: WaitPlace, *, convicted: bool) -> Finding:
        """The claim in words, with its reasons."""
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
                f"{ranks_wait(len(waiter.waiting))} in {case.place_text(waiter)}; {came},"
                " and everything it issued is done"
            )
            reasons.append(case.because(self.name, text, rank, at=case.stopped_at(rank)))
        last = case.last_entry_text(rank)
        if last:
            text = f"last issued: {last}"
            if digest and digest.block_open:
                text += "; the record ends inside a coalesced block that it had begun to build"
            reasons.append(case.because(self.name, text, rank, at=case.stopped_at(rank)))
        reasons += case.stack_reason(self.name, rank, "the last operation came from")
        whole = digest is not None and digest.partial is None
        strength = (0.95 if whole else 0.88) if convicted else 0.3
        return Finding(
            detector=self.name,
            explained_by=self.explains,
            kind=VerdictKind.HANG,
            category=Category.HOST_STALL,
            ranks=(rank,),
            strength=strength,
            role=Role.CULPRIT if convicted else Role.POSSIBLE,
            summary="stopped issuing work on the host while its peers went on",
            because=tuple(reasons),
            end=end,
        )


def is_open(counters: Counters) -> bool:
    """Whether a group has more on its stream than it finished."""
    done, issued = counters.completed, counters.enqueued
    return done is not None and issued is not None and 0 <= done < issued
