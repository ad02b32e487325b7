"""Mismatch: members of a group issue different operations at one sequence number.

Compared are operation, dtypes and sizes, each of them where it must agree: sizes
may differ by right in all-to-all, scatter, gather and uneven splits. The minority
is the suspect. A tie is broken only by what other groups of the same kind did at
that number; else nobody is convicted: who issues something for the first time may be
the one that came to a checkpoint or an evaluation, as the other should have.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.placement.siblings import (
    Form,
    find_sibling_signature,
    format_shapes,
    make_form,
)
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import PlaceKind, WaitPlace
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

NAME: Final = "fr.mismatch"

# How far behind or ahead the same operations are looked for.
_MAX_SHIFT = 4
_MAX_REASONS = 4
# The same number of elements in another shape.
_SHAPE_ALONE = "shape"


@dataclass(frozen=True, slots=True)
class OddRanks:
    """Who differs at a place: ``ranks`` convicted, or all of the tied when undecided."""

    ranks: tuple[int, ...]
    decided: bool
    how: str


def find_mismatches(case: Case) -> Iterator[Finding]:
    """One finding per place whose members disagree.

    Silent: when fewer than two members' operations are known.
    """
    # One place may be in trouble for many missing ranks.
    known: dict[int, Finding | None] = {}
    for end, places in case.troubled():
        for place in places:
            if place.kind is not PlaceKind.COLLECTIVE:
                continue
            if place.index not in known:
                known[place.index] = _judge_place(case, end, place)
            finding = known[place.index]
            if finding is not None:
                yield replace(finding, end=None if finding.end is None else end)
                break


def _judge_place(case: Case, end: int, place: WaitPlace) -> Finding | None:
    sigs = {
        rank: sig
        for rank in (*place.waiting, *place.held, *place.through)
        if (sig := case.snapshot.signature(rank, place.group, place.seq)) is not None
    }
    if len(set(sigs.values())) < 2:
        return None
    forms = {rank: _get_known_form(case, sig) for rank, sig in sigs.items()}
    known = {rank: form for rank, form in forms.items() if form is not None}
    part, keys = None, {}
    for number, name in enumerate(("operation", "dtype", "size")):
        keys = {rank: form[number] for rank, form in known.items()}
        if len(set(keys.values())) > 1:
            part = name
            break
    if part is None:
        described = {rank: case.snapshot.describe(sig) for rank, sig in sigs.items()}
        keys = {rank: format_shapes(one) for rank, one in described.items() if one is not None}
        if len(set(keys.values())) < 2:
            return None
        part = _SHAPE_ALONE
    odd = _find_odd_ranks(case, place, keys)
    if part == _SHAPE_ALONE:
        # No library can notice it, so it holds nobody up: what does is told beside it.
        found = _make_claim(case, end, place, part, replace(odd, decided=False), sigs)
        return replace(found, strength=0.35, end=None)
    return _make_claim(case, end, place, part, odd, sigs)


def _make_claim(
    case: Case, end: int, place: WaitPlace, part: str, odd: OddRanks, sigs: dict[int, int]
) -> Finding:
    others = Counter(sig for rank, sig in sigs.items() if rank not in odd.ranks)
    usual = others.most_common(1)[0][0] if others else None
    reasons = []
    shift = None
    for rank in odd.ranks[:_MAX_REASONS]:
        mine = case.snapshot.describe(sigs.get(rank))
        text = f"at {case.group_text(place.group)} {place.seq} it issued {mine}"
        if usual is not None:
            text += f", {len(sigs) - len(odd.ranks)} members {case.snapshot.describe(usual)}"
        text += f"; {odd.how}"
        reasons.append(case.because(NAME, text, rank, at=case.stuck_since(rank)))
        if odd.decided:
            shift = _describe_shift(case, place, rank, sigs, odd.ranks)
            if shift:
                reasons.append(case.because(NAME, shift, rank))
        reasons += case.stack_reason(NAME, rank, "the operation came from")
    return Finding(
        detector=NAME,
        kind=VerdictKind.DESYNC,
        category=Category.COLLECTIVE_MISMATCH,
        ranks=odd.ranks,
        strength=0.95 if odd.decided else 0.45,
        role=Role.CULPRIT if odd.decided else Role.POSSIBLE,
        summary=_summarize(case, place, part, odd, shift),
        because=tuple(reasons),
        end=end,
        ranks_disagree=True,
    )


def _summarize(case: Case, place: WaitPlace, part: str, odd: OddRanks, shift: str | None) -> str:
    where = f"{case.group_text(place.group)} at sequence number {place.seq}"
    if part == _SHAPE_ALONE:
        return (
            f"called a collective of {where} with another shape of as many elements, which alone"
            " stops nobody"
        )
    if not odd.decided:
        return f"disagree on the {part} in {where}, and nothing tells which of them is wrong"
    if shift and "swapped" in shift:
        return f"issued two operations of {where} in swapped order"
    if shift and "left out" in shift:
        return f"left out an operation of {where}"
    return f"called a collective of {where} with another {part} than its peers"


def _find_odd_ranks(case: Case, place: WaitPlace, keys: dict[int, str]) -> OddRanks:
    """The minority; on a tie, what siblings decide."""
    counts = Counter(keys.values())
    (top, most), *_ = counts.most_common()
    if 2 * most > len(keys):
        odd = tuple(sorted(rank for rank, key in keys.items() if key != top))
        return OddRanks(odd, decided=True, how=f"{most} of {len(keys)} members agree")
    tied = sorted(keys)
    at = (place.group, place.seq)
    usual = _get_known_form(case, find_sibling_signature(case, place))
    odd = tuple(
        rank for rank in tied if _get_known_form(case, case.snapshot.signature(rank, *at)) != usual
    )
    if 0 < len(odd) < len(tied):
        return OddRanks(odd, decided=True, how="groups of the same kind side with the others")
    return OddRanks(
        tuple(tied), decided=False, how="no majority, and no other group to compare with"
    )


def _get_known_form(case: Case, signature: int | None) -> Form | None:
    """What must agree of an operation, None where nothing is known of it."""
    return make_form(case.snapshot.describe(signature))


def _describe_shift(
    case: Case, place: WaitPlace, rank: int, sigs: dict[int, int], odd: Sequence[int]
) -> str | None:
    """Whether the difference is one of order: two swapped, one left out, one too many."""
    peer = next((other for other in sigs if other not in odd), None)
    if peer is None:
        return None
    mine = [case.snapshot.signature(rank, place.group, place.seq + k) for k in range(_MAX_SHIFT)]
    theirs = [case.snapshot.signature(peer, place.group, place.seq + k) for k in range(_MAX_SHIFT)]
    if None in (mine[0], mine[1], theirs[0], theirs[1]):
        return None
    if mine[0] == theirs[1] and mine[1] == theirs[0]:
        return (
            f"operations {place.seq} and {place.seq + 1} stand in swapped order: its first is what"
            f" its peers issue second, and the other way round"
        )
    if mine[: _MAX_SHIFT - 1] == theirs[1:] and None not in theirs:
        return f"it left out operation {place.seq}: all it issues from there is one place early"
    if mine[1:] == theirs[: _MAX_SHIFT - 1] and None not in mine:
        return f"operation {place.seq} is one too many: all after it is one place late"
    return None
