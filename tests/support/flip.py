"""What moved between the answers to an incident before and after a change."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from simulator.perturb.incident import Incident, is_dump
from simulator.perturb.registry import named
from simulator.perturb.transformation import Keep, Transformation
from tests.support.answering import Answerer, AnswerSummary
from tests.support.cases import Case

DUMPS = "dumps alone"
NEAR = 0.05


@dataclass(frozen=True, slots=True)
class Flip:
    """One incident, answered before and after one change."""

    id: str
    what: str
    change: str
    before: AnswerSummary
    after: AnswerSummary
    right_before: bool
    right_after: bool
    category_before: bool
    category_after: bool
    innocents: tuple[str, ...]
    broken: tuple[str, ...]


def is_guilty(case: Case, who: str) -> bool:
    """Whether a node, or a "rank N", may be convicted."""
    rank = who.removeprefix("rank ")
    return who in case.guilty or (who != rank and int(rank) in case.guilty_ranks)


def right(case: Case, said: AnswerSummary) -> bool:
    """The node is right; nobody is convicted where nobody is guilty."""
    if case.guilty or case.guilty_ranks:
        return said.node is not None and is_guilty(case, said.node)
    return not said.convicted


def flips_of(
    case: Case, answerer: Answerer, names: Sequence[str], seed: int, draws: int = 1
) -> Iterator[Flip]:
    """The dumps alone first, then ``draws`` flips per transformation that applies."""
    answerer.forget()
    incident = answerer.with_rows(case)
    before = answerer.said(incident.files)
    dumps = dumps_of(incident)
    by_dumps = answerer.said(dumps) if dumps else None
    if by_dumps is not None and len(dumps) < len(incident.files):
        yield flip(case, DUMPS, before, by_dumps, ())
    for name in names:
        change = named(name)
        for draw in range(draws):
            other = changed(change, case.id, incident, seed + 1000 * draw)
            if other is not None:
                after = answerer.said(other.files)
                lost = broken(change.keeps, before, after, by_dumps, case)
                yield flip(case, name, before, after, lost)


def changed(change: Transformation, name: str, incident: Incident, seed: int) -> Incident | None:
    """The incident after one change; the same seed and name give the same."""
    return change.apply(incident, random.Random(f"{seed}/{name}/{change.name}"))


def dumps_of(incident: Incident) -> dict[str, bytes]:
    """The dumps with the facts of the job; nothing without dumps."""
    dumps = {name: data for name, data in incident.files.items() if is_dump(data)}
    facts = {name: data for name, data in incident.files.items() if name == "job.json"}
    return {**dumps, **facts} if dumps else {}


def flip(
    case: Case, change: str, before: AnswerSummary, after: AnswerSummary, lost: tuple[str, ...]
) -> Flip:
    return Flip(
        case.id, case.what, change, before, after, right(case, before), right(case, after),
        before.category in case.categories, after.category in case.categories,
        new_innocents(case, before, after), lost,
    )  # fmt: skip


def new_innocents(case: Case, before: AnswerSummary, after: AnswerSummary) -> tuple[str, ...]:
    return tuple(
        who for who in after.convicted if who not in before.convicted and not is_guilty(case, who)
    )


def sound_acts(case: Case, before: AnswerSummary, after: AnswerSummary) -> set[str]:
    """The sound nodes that are cordoned or left out after a change, and were not before."""
    known = {*before.cordon, *before.left_out}
    return {one for one in (*after.cordon, *after.left_out)
            if one not in known and not is_guilty(case, one)}  # fmt: skip


def broken(
    keeps: Collection[Keep], before: AnswerSummary, after: AnswerSummary,
    by_dumps: AnswerSummary | None, case: Case,
) -> tuple[str, ...]:  # fmt: skip
    """What of ``keeps`` did not stay."""
    proved = by_dumps is not None and by_dumps.role == "culprit" and by_dumps.node == before.node
    lost = {
        Keep.NODE: after.node != before.node,
        Keep.ROLE: after.role != before.role,
        Keep.CATEGORY: after.category != before.category,
        Keep.CONFIDENCE: abs(after.confidence - before.confidence) > NEAR + 1e-9,
        Keep.NO_INNOCENT: bool(new_innocents(case, before, after)),
        Keep.NO_SOUND_ACT: bool(sound_acts(case, before, after)),
        Keep.PROVED_NODE: proved and after.node != before.node,
    }
    return tuple(str(one) for one in Keep if one in keeps and lost[one])
