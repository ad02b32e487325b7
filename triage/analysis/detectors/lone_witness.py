"""Lone witness: the only rank beside a missing dump did something else than ever there.

Where two ranks disagree and one of them left no dump, the other seems to wait for a
rank that is gone. What it waits in tells: pipelines and groups side by side do the
same. Where they did not, the rank that dumped is the odd one, and the missing one is
as stuck as everybody else.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from triage.analysis.placement.siblings import (
    find_sibling_signature,
    is_novel_block,
    is_stuck_in_p2p,
    is_unlike_siblings,
    list_siblings,
    list_signatures_before,
    make_form,
)
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.rank_digest import P2P

NAME: Final = "fr.lone_witness"

# Beyond this many ranks that say nothing, most files were not collected.
_MAX_SILENT = 16
# Ranks further off that are looked at, at most.
_MAX_ON_THE_WAY = 4096
# Operations of its group right before the one in question, which it must have issued before.
_CONTEXT = 2
# A rank with fewer finished operations than this does most things for the first time.
_MATURE = 50


def find_lone_witnesses(case: Case) -> Iterator[Finding]:
    """One finding per missing rank beside which exactly one rank did something odd.

    Silent: when every rank dumped, and when what the ranks beside it wait in is usual.
    """
    silent = {end: ranks for end, _ in case.ends() if (ranks := case.silent_at(end))}
    if sum(map(len, silent.values())) > _MAX_SILENT:
        return
    for end, ranks in silent.items():
        odd = _on_the_way(case, end)
        new: dict[int, str] = {}
        for gone in ranks:
            _look_beside(case, gone, odd, new)
        if len(odd) == 1:
            yield _make_claim(case, end, next(iter(odd)), ranks[0], odd)
        elif not odd and len(new) == 1:
            yield _make_claim(case, end, next(iter(new)), ranks[0], new, decided=False)


def _make_claim(
    case: Case, end: int, rank: int, gone: int, why: dict[int, str], decided: bool = True
) -> Finding:
    place = case.graph.places[case.graph.place_of[rank]]
    lacks = "left no whole dump"
    text = f"waits for rank {gone}, which {lacks}, in {case.place_text(place)}; {why[rank]}"
    return Finding(
        detector=NAME,
        kind=VerdictKind.DESYNC if decided else VerdictKind.INCONCLUSIVE,
        category=Category.COLLECTIVE_MISMATCH,
        ranks=(rank,) if decided else (rank, gone),
        strength=0.8 if decided else 0.4,
        role=Role.CULPRIT if decided else Role.POSSIBLE,
        summary=(
            f"issued something else than its siblings, where rank {gone}, which {lacks}, was to"
            " meet it"
            if decided
            else f"may disagree on an operation that is new to them: rank {gone} {lacks}"
        ),
        because=tuple(case.explain(NAME, text, rank, "the stuck operation")),
        end=end,
    )


def _look_beside(case: Case, gone: int, odd: dict[int, str], new: dict[int, str]) -> None:
    """Who waits for a silent rank in something odd, or new, with the reason."""
    waiting = (one for one in case.graph.channels if one.peer == gone and not one.matched)
    for rank, group in {(one.rank, one.group) for one in waiting}:
        if is_unlike_siblings(case, rank, group):
            odd[rank] = "the same stage of the other pipelines issued something else there"
        elif not any(list_siblings(case, group)) and is_novel_block(case, rank):
            new[rank] = "its block is unlike any that it issued before"
    for place in case.graph.places:
        if place.kind is PlaceKind.COLLECTIVE and (gone in place.absent or gone in place.waiting):
            _judge_collective(case, place, gone, odd, new)


def _on_the_way(case: Case, end: int) -> dict[int, str]:
    """Ranks that wait for others on the way there, in a send/recv that neither they nor the
    same stage of the other pipelines ever issued: it may have been meant for the silent one.
    """
    victims = [rank for rank in case.victims_of(end) if is_stuck_in_p2p(case, rank)]
    return {
        rank: "neither it nor the same stage of the other pipelines issued such a block before"
        for rank in victims[:_MAX_ON_THE_WAY]
        if is_novel_block(case, rank)
        and (stuck := case.snapshot.stuck_of(rank)) is not None
        and is_unlike_siblings(case, rank, stuck.group)
    }


def _judge_collective(
    case: Case, place: WaitPlace, gone: int, odd: dict[int, str], new: dict[int, str]
) -> None:
    """The one member of a collective's group that says what it issued, where there is only one."""
    known = {*place.waiting, *place.held, *place.through, *place.missing} - {gone}
    if len(known) != 1 or place.unknown:
        return
    rank = min(known)
    sig = case.snapshot.signature(rank, place.group, place.seq)
    if sig is None or rank not in place.waiting:
        return
    usual = find_sibling_signature(case, place, rank)
    if usual is not None:
        mine = make_form(case.snapshot.describe(sig))
        differs = mine != make_form(case.snapshot.describe(usual))
        if differs and _is_unprecedented(case, rank, place):
            odd[rank] = "the other groups of this kind issued something else at that number"
    elif (
        place.seq == 1
        and len(case.snapshot.digests[case.snapshot.index_of[rank]].history) >= _MATURE
        and {*list_signatures_before(case, rank, place.group, place.seq)} == {None}
    ):
        new[rank] = "it is the first operation of its group, late in the job"


def _is_unprecedented(case: Case, rank: int, place: WaitPlace) -> bool:
    """Whether a rank never issued this operation behind the ones right before it, and came by
    those before: groups of one kind serve different layers, so that siblings alone prove little.
    """
    index = case.snapshot.index_of[rank]
    units = case.snapshot.digests[index].history.read()
    streams = case.snapshot.group_streams(index, place.group)
    ours = np.isin(units.stream, streams) & ((units.flags & P2P) == 0)
    ours &= units.seq < place.seq
    past = units.sig[ours][np.argsort(units.seq[ours], kind="stable")].tolist()
    now = case.snapshot.signature(rank, place.group, place.seq)
    context = past[-_CONTEXT:]
    followers = [
        past[k + _CONTEXT] for k in range(len(past) - _CONTEXT) if past[k : k + _CONTEXT] == context
    ]
    return bool(followers) and now not in followers
