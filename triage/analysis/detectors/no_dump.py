"""No dump: peers wait for a rank that left none.

Its process died, its node was lost, or it sits in teardown: weak evidence alone.
A rank without a dump that would be stuck anyway, before the place where it is
missed, is explained and not accused.
"""

from collections.abc import Iterator

from triage.analysis.case import Case, ranks_wait
from triage.analysis.waits import Place, PlaceKind
from triage.domain.category import ANY_CAUSE, Category, Role, VerdictKind
from triage.domain.finding import Finding

__all__ = ["GAP_STRENGTH", "NoDump"]

# Beyond this share of the job, files were not collected rather than ranks lost.
MAX_SHARE = 0.25
MAX_REASONS = 3
# What a missing file is worth where something else explains the stop, or files are missing.
GAP_STRENGTH = 0.25
# As many ranks as a node commonly has, where no map is known.
NODE_RANKS = 8
# Doubtful gaps beyond this number tell nothing; the coverage names them all.
MAX_GAPS = 64


class NoDump:
    """One finding per rank without a dump whose absence nothing else explains.

    Silent: when every rank dumped, or others explain the waits.
    """

    name = "fr.no_dump"
    explains: frozenset[Category] = ANY_CAUSE
    runs_in_flight = False
    is_gap = True

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
        explained_by = explanations(case, absent, at)
        accused = unexplained(explained_by)
        # Where the records name a culprit of their own, a missing file is a gap, not a
        # second one; and of many missing files, most were not collected.
        named = len(case.graph.ends) > len(absent)
        many = named or len(accused) > max(2, MAX_SHARE * len(case.snapshot.world))
        many = many or apart_from_each_other(case, [absent[end].waiting[0] for end in accused])
        if many and len(accused) > MAX_GAPS:
            return
        for end in accused:
            yield self.finding(case, end, absent[end], at[end], accused=len(accused), many=many)

    def finding(
        self, case: Case, end: int, place: Place, waiters: list[Place], *, accused: int, many: bool
    ) -> Finding:
        """The claim in words, with its reasons."""
        rank = place.waiting[0]
        apart = case.snapshot.apart.get(rank)
        unread = rank in case.snapshot.unread
        reasons = []
        for waiter in waiters[:MAX_REASONS]:
            text = (
                f"{ranks_wait(len(waiter.waiting))} for it in {case.place_text(waiter)},"
                f" and it left {'no usable' if apart or unread else 'no'} dump"
            )
            witness = waiter.waiting[0]
            reasons.append(case.because(self.name, text, witness, at=case.stuck_since(witness)))
        # Who began a dump was alive when the others gave up waiting.
        doubtful = many or apart is not None or unread
        strength = GAP_STRENGTH if doubtful else (0.75 if accused == 1 else 0.65)
        return Finding(
            detector=self.name,
            explained_by=self.explains,
            is_gap=True,
            kind=VerdictKind.INCONCLUSIVE if doubtful else VerdictKind.CRASH,
            category=Category.NCCL_TIMEOUT,
            ranks=(rank,),
            strength=strength,
            role=Role.POSSIBLE if doubtful else Role.CULPRIT,
            summary=(
                "has a dump of another moment, and its peers wait for it"
                if apart
                else "left a dump that cannot be read, and its peers wait for it"
                if unread
                else "left no dump, and its peers wait for it: its process or node is gone,"
                " or it sits in teardown"
            ),
            because=tuple(reasons),
            end=end,
        )


def apart_from_each_other(case: Case, ranks: list[int]) -> bool:
    """Whether missing ranks cannot be those of one node: then some file is only a gap."""
    if len(ranks) < 2:
        return False
    nodes = {case.snapshot.node_of(rank) for rank in ranks}
    if None in nodes:
        return max(ranks) - min(ranks) >= NODE_RANKS
    return len(nodes) > 1


def explanations(
    case: Case, absent: dict[int, Place], at: dict[int, list[Place]]
) -> dict[int, int]:
    """For each end, the ends (bits) that account for all waits on its rank.

    The rank would be stuck by them without any fault of its own.
    """
    stuck = stuck_places(case, {place.waiting[0] for place in absent.values()})
    # Where many files are missing, their ranks share groups and so these pairs.
    precedes: dict[tuple[int, int], bool] = {}
    explained_by = {}
    for end, place in absent.items():
        others = stuck[place.waiting[0]]
        common = ~(1 << end)
        for waiter in at[end]:
            found = ends_behind(case, waiter)
            for other in others:
                if other.index == waiter.index:
                    continue
                pair = other.index, waiter.index
                if pair not in precedes:
                    precedes[pair] = case.precedes(other, waiter)
                if precedes[pair]:
                    found |= ends_behind(case, other)
            common &= found
        explained_by[end] = common if at[end] else 0
    return explained_by


def unexplained(explained_by: dict[int, int]) -> list[int]:
    """The ends that nobody explains but ends that they explain in turn.

    Two that explain each other stand together; one that is explained by another and does
    not explain it falls.
    """
    absent = 0
    # Ends that are explained alike, themselves counted in, are looked at together.
    alike: dict[int, int] = {}
    for end, others in explained_by.items():
        bit = 1 << end
        absent |= bit
        alike[others | bit] = alike.get(others | bit, 0) | bit
    standing = 0
    for explained, members in alike.items():
        left = 0 if explained & ~absent else members
        for other, others in alike.items():
            if not left:
                break
            if explained & others:
                left &= other
        standing |= left
    return [end for end in explained_by if standing >> end & 1]


def ends_behind(case: Case, place: Place) -> int:
    """The ends that a place leads to, as bits."""
    return case.graph.reach[case.graph.component_of[place.index]]


def stuck_places(case: Case, ranks: set[int]) -> dict[int, list[Place]]:
    """For each rank, the places that would hold it too, since it is a member of their group."""
    found: dict[int, list[Place]] = {rank: [] for rank in ranks}
    for place in case.graph.places:
        if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
            for rank in ranks & case.snapshot.row_of[place.group].keys():
                found[rank].append(place)
    return found
