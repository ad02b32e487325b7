"""No dump: peers wait for a rank that left none.

Its process died, its node was lost, or it sits in teardown: weak evidence alone.
A rank without a dump that would be stuck anyway, before the place where it is
missed, is explained and not accused. Files that are missing where nobody waits for
them show that files got lost here: then any member of a group may lack one by chance,
and the rest of the group may be stuck with it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from triage.analysis.waiting.case import Case, describe_waiting
from triage.analysis.waiting.dump_moment import find_home
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Because

NAME: Final = "fr.no_dump"

# Beyond this share of the job, files were not collected rather than ranks lost.
_MAX_SHARE = 0.25
_MAX_REASONS = 3
# What a missing file is worth where something else explains the stop, or files are missing.
GAP_STRENGTH = 0.25
# Where it is likelier than this that some member of the groups that wait lost its file by
# chance, the one that lacks it is accused of nothing.
_MAX_CHANCE = 0.1
# ... and where all others have entered the one operation that waits for it: then it may be
# as stuck as they are, and its file may have got lost.
_ONE_PLACE_STRENGTH = 0.6
# ... and where files of others got lost too, shared among the nodes that it may be.
_CHANCE_STRENGTH = 0.5
# A node of fewer ranks may lose all of their files by chance.
_WHOLE_NODE = 3
# Gaps on more nodes than this tell nothing; the coverage names them all.
_MAX_HOMES = 3


@dataclass(frozen=True, slots=True)
class Gap:
    """A rank that left no usable dump, at an end of the graph, and the places that wait for it."""

    end: int
    rank: int
    waiters: list[WaitPlace]


def find_missing_dumps(case: Case) -> Iterator[Finding]:
    """One finding per rank without a dump whose absence nothing else explains.

    Silent: when every rank dumped, or others explain the waits.
    """
    gaps = [
        Gap(end, places[0].waiting[0], case.waiters(places[0]))
        for end, places in case.ends()
        if places[0].kind in (PlaceKind.NO_DUMP, PlaceKind.APART)
    ]
    # Who gave up waiting in the same operation as those who wait for it has entered it.
    gaps = [
        gap
        for gap in gaps
        if not any(waiter.seq in case.gave_up_in.get(gap.rank, ()) for waiter in gap.waiters)
    ]
    if not gaps:
        return
    by_end = {gap.end: gap for gap in gaps}
    accused = [by_end[end] for end in find_unexplained(_find_explanations(case, gaps))]
    # Where the records name a culprit of their own, a missing file is a gap, not a
    # second one; and of many missing files, most were not collected.
    named = len(case.graph.ends) > len(gaps)
    many = named or _is_collection_gap(case, accused)
    unusable = case.snapshot.apart.keys() | case.snapshot.unread
    at_home: dict[str, list[Gap]] = {}
    for gap in accused:
        if gap.rank in unusable:
            yield _make_claim(case, [gap], doubt=GAP_STRENGTH)
        else:
            at_home.setdefault(find_home(case.snapshot, gap.rank), []).append(gap)
    gone = None if named else _find_missing_node(case, at_home)
    if gone is not None:
        yield _make_claim(case, at_home.pop(gone), doubt=None)
    if many and len(at_home) > _MAX_HOMES:
        return
    doubt, homes = None, max(len(at_home), 1)
    if gone is not None:
        doubt = GAP_STRENGTH / homes
    elif many:
        doubt = GAP_STRENGTH if named else _CHANCE_STRENGTH / homes
    for together in at_home.values():
        yield _make_claim(case, together, doubt=doubt)


def _make_claim(case: Case, gaps: Sequence[Gap], *, doubt: float | None) -> Finding:
    """The claim on one rank, or on ranks of one node that nothing tells apart: one of them,
    whichever it is. ``doubt`` is what is left of it where it is a gap.

    Several accuse the node; where it is not known which ranks are a node, they convict nobody.
    """
    ordered = sorted(gaps, key=lambda gap: -len({waiter.index for waiter in gap.waiters}))
    ranks, lone = tuple(gap.rank for gap in ordered), len(gaps) == 1
    at_one_place = len({waiter.index for gap in ordered for waiter in gap.waiters}) < 2
    nowhere = not lone and case.snapshot.node_of(ranks[0]) is None
    doubtful = doubt is not None or at_one_place or nowhere
    reasons = [
        reason
        for gap in ordered
        for reason in _list_reasons(case, gap.rank, gap.waiters[: None if lone else 1])
    ]
    return Finding(
        detector=NAME,
        is_gap=True,
        kind=_classify_kind(case, convicts=not doubtful),
        category=Category.NCCL_TIMEOUT,
        ranks=ranks,
        strength=doubt or (_ONE_PLACE_STRENGTH if at_one_place else 0.75 if lone else 0.65),
        role=Role.POSSIBLE if doubtful else Role.CULPRIT,
        summary=_summarize(case, ranks, at_one_place=at_one_place and doubt is None),
        because=tuple(reasons[:_MAX_REASONS]),
        end=ordered[0].end,
        one_of=not lone,
    )


def _summarize(case: Case, ranks: Sequence[int], *, at_one_place: bool) -> str:
    """What is said of them. Who began a dump was alive when the others gave up waiting."""
    if len(ranks) > 1:
        return "is what others wait for: none of them left a dump, and nothing tells which"
    if ranks[0] in case.snapshot.apart:
        return "has a dump of another moment, and its peers wait for it"
    if ranks[0] in case.snapshot.unread:
        return "left a dump that cannot be read, and its peers wait for it"
    if at_one_place:
        return (
            "left no dump, and all others have entered what waits for it: it is gone,"
            " or as stuck as they are"
        )
    return (
        "left no dump, and its peers wait for it: its process or node is gone,"
        " or it sits in teardown"
    )


def _list_reasons(case: Case, rank: int, waiters: Sequence[WaitPlace]) -> Iterator[Because]:
    usable = rank in case.snapshot.apart or rank in case.snapshot.unread
    for waiter in waiters[:_MAX_REASONS]:
        text = (
            f"{describe_waiting(len(waiter.waiting))} for it in {case.place_text(waiter)},"
            f" and it left {'no usable' if usable else 'no'} dump"
        )
        witness = waiter.waiting[0]
        yield case.because(NAME, text, witness, at=case.stuck_since(witness))


def _classify_kind(case: Case, *, convicts: bool) -> VerdictKind:
    """What the incident is: a job that runs may look as a hang does, when files are missing."""
    if convicts:
        return VerdictKind.CRASH
    return VerdictKind.HANG if case.live.stopped else VerdictKind.INCONCLUSIVE


def _is_collection_gap(case: Case, accused: Sequence[Gap]) -> bool:
    """Whether files are missing by chance, rather than because their ranks are gone."""
    snapshot = case.snapshot
    if len(accused) > max(2, _MAX_SHARE * len(snapshot.world)):
        return True
    ranks = [gap.rank for gap in accused]
    homes = {find_home(snapshot, rank) for rank in ranks}
    if len(homes) > 1:
        return True
    # Files may get lost so often that a group this large may lack one for no reason. What is
    # missing at the home of who is accused may have gone with it, and does not count.
    elsewhere = [rank for rank in snapshot.world if find_home(snapshot, rank) not in homes]
    lost = sum(rank not in snapshot.index_of and rank not in snapshot.unread for rank in elsewhere)
    if not lost:
        return False
    members = {
        rank
        for gap in accused
        for place in gap.waiters
        for rank in (
            snapshot.groups[place.group].ranks
            if place.kind is PlaceKind.COLLECTIVE
            else (*place.waiting, *ranks)
        )
    }
    return 1 - (1 - lost / len(elsewhere)) ** len(members) > _MAX_CHANCE


def _find_missing_node(case: Case, homes: Collection[str]) -> str | None:
    """The one home of those accused that left nothing at all, where files that get lost one by
    one seldom take all of a node; None where no home or two did, or where nothing else is lost.
    """
    snapshot = case.snapshot
    at: dict[str, list[int]] = {}
    for rank in snapshot.world:
        at.setdefault(find_home(snapshot, rank), []).append(rank)
    lost = {
        place: sum(rank not in snapshot.index_of for rank in ranks) for place, ranks in at.items()
    }
    gone = [place for place in homes if lost[place] == len(at[place]) >= _WHOLE_NODE]
    if len(gone) != 1 or len(homes) < 2:
        return None
    others = len(snapshot.world) - len(at[gone[0]])
    share = sum(count for place, count in lost.items() if place != gone[0]) / max(others, 1)
    chance = (len(homes) - 1) * share ** (len(at[gone[0]]) - 1)
    return gone[0] if chance <= _MAX_CHANCE else None


def _find_explanations(case: Case, gaps: Sequence[Gap]) -> dict[int, int]:
    """For each end, the ends (bits) that account for all waits on its rank.

    The rank would be stuck by them without any fault of its own.
    """
    stuck = _map_stuck_places(case, {gap.rank for gap in gaps})
    # Where many files are missing, their ranks share groups and so these pairs.
    precedes: dict[tuple[int, int], bool] = {}
    explained_by = {}
    for gap in gaps:
        others = stuck[gap.rank]
        common = ~(1 << gap.end)
        for waiter in gap.waiters:
            found = _get_ends_bits(case, waiter)
            for other in others:
                if other.index == waiter.index:
                    continue
                pair = other.index, waiter.index
                if pair not in precedes:
                    precedes[pair] = case.precedes(other, waiter)
                if precedes[pair]:
                    found |= _get_ends_bits(case, other)
            common &= found
        explained_by[gap.end] = common if gap.waiters else 0
    return explained_by


def find_unexplained(explained_by: dict[int, int]) -> list[int]:
    """The ends that nothing explains but ends that they explain in turn.

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


def _get_ends_bits(case: Case, place: WaitPlace) -> int:
    return case.graph.reach[case.graph.component_of[place.index]]


def _map_stuck_places(case: Case, ranks: set[int]) -> dict[int, list[WaitPlace]]:
    """For each rank, the places that would hold it too, since it is a member of their group."""
    found: dict[int, list[WaitPlace]] = {rank: [] for rank in ranks}
    for place in case.graph.places:
        if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
            for rank in ranks:
                if case.snapshot.row(place.group, rank) >= 0:
                    found[rank].append(place)
    return found
