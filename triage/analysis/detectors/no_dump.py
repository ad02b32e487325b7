"""No dump: peers wait for a rank that left none.

Its process died, its node was lost, or it sits in teardown: weak evidence alone.
A rank without a dump that would be stuck anyway, before the place where it is
missed, is explained and not accused.
"""

from collections.abc import Iterator

from triage.analysis.case import Case, ranks_wait
from triage.analysis.waits import Place, PlaceKind
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

__all__ = ["NoDump"]

# Beyond this share of the job, files were not collected rather than ranks lost.
MAX_SHARE = 0.25
MAX_REASONS = 3


class NoDump:
    """One finding per rank without a dump whose absence nothing else explains.

    Silent: when every rank dumped, or others explain the waits.
    """

    name = "fr.no_dump"

    def run(self, case: Case) -> Iterator[Finding]:
        """See the class."""
        absent = {
            end: places[0]
            for end, places in case.ends()
            if places[0].kind in (PlaceKind.NO_DUMP, PlaceKind.APART)
        }
        if not absent:
            return
        waited = case.graph.waited_by
        at = {end: [case.graph.places[k] for k in waited[p.index]] for end, p in absent.items()}
        explained_by = {end: explanations(case, end, place, at) for end, place in absent.items()}
        accused = []
        for end in absent:
            others = explained_by[end]
            if any(other not in absent for other in others):
                continue
            # Two that explain each other stand together; one that is explained
            # by another and does not explain it in turn falls.
            if all(end in explained_by[other] for other in others):
                accused.append(end)
        # Where the records name a culprit of their own, a missing file is a gap, not a
        # second one; and of many missing files, most were not collected.
        named = len(case.graph.ends) > len(absent)
        many = named or len(accused) > max(2, MAX_SHARE * len(case.snapshot.world))
        for end in accused:
            yield self.finding(case, end, absent[end], at[end], accused=len(accused), many=many)

    def finding(
        self, case: Case, end: int, place: Place, waiters: list[Place], *, accused: int, many: bool
    ) -> Finding:
        """The claim in words, with its reasons."""
        rank = place.waiting[0]
        apart = case.snapshot.apart.get(rank)
        reasons = []
        for waiter in waiters[:MAX_REASONS]:
            text = (
                f"{ranks_wait(len(waiter.waiting))} for it in {case.place_text(waiter)},"
                f" and it left {'no usable' if apart else 'no'} dump"
            )
            witness = waiter.waiting[0]
            reasons.append(case.because(self.name, text, witness, at=case.stuck_since(witness)))
        doubtful = many or apart is not None
        strength = 0.25 if doubtful else (0.75 if accused == 1 else 0.65)
        return Finding(
            detector=self.name,
            kind=VerdictKind.INCONCLUSIVE if doubtful else VerdictKind.CRASH,
            category=Category.NCCL_TIMEOUT,
            ranks=(rank,),
            strength=strength,
            role=Role.POSSIBLE if doubtful else Role.CULPRIT,
            summary=(
                "has a dump of another moment, and its peers wait for it"
                if apart
                else "left no dump, and its peers wait for it: its process or node is gone,"
                " or it sits in teardown"
            ),
            because=tuple(reasons),
            end=end,
        )


def explanations(case: Case, end: int, place: Place, at: dict[int, list[Place]]) -> set[int]:
    """Ends that account for all waits on this rank: it would be stuck without any fault."""
    rank = place.waiting[0]
    common: set[int] | None = None
    for waiter in at[end]:
        found = ends_behind(case, waiter) - {end}
        for other in stuck_places_with(case, rank):
            if other.index != waiter.index and case.precedes(other, waiter):
                found |= ends_behind(case, other) - {end}
        common = found if common is None else common & found
        if not common:
            return set()
    return common or set()


def ends_behind(case: Case, place: Place) -> set[int]:
    bits = case.graph.reach[case.graph.component_of[place.index]]
    found = set()
    while bits:
        low = bits & -bits
        found.add(low.bit_length() - 1)
        bits ^= low
    return found


def stuck_places_with(case: Case, rank: int) -> list[Place]:
    """Places that would hold this rank too, since it is a member of their group."""
    return [
        place
        for place in case.graph.places
        if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P)
        and rank in case.snapshot.row_of[place.group]
    ]
