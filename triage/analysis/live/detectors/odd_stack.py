"""Odd stacks: the ranks whose host stands outside any wait while the others wait.

Nobody leaves a collective before all its members came. So who stands elsewhere, and does not
move, is whom the others wait for, whatever the program is; and who waits is a victim.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.jobs import are_counters_moving
from triage.analysis.live.stacks.grouping import StackClass, split
from triage.analysis.live.stacks.program_points import ProgramPoint
from triage.analysis.live.stacks.rank_stack import RankStack
from triage.analysis.live.stacks.two_looks import StackMovement
from triage.analysis.live.stacks.words import (
    describe_frame,
    describe_where,
    describe_who,
    explain_stack,
)
from triage.domain.category import ANY_CAUSE, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Because

_NAME: Final = "stacks.odd_one"
# From so many ranks that wait on, one that works on is odd.
_LEAST_WAITING: Final = 3
# Ranks of one place that are named; beyond, it is what they share.
_MAX_RANKS: Final = 16
# What a stack is worth by how many wait: of two ranks nobody is the odd one.
_ONE_LOOK: Final = {1: 0.45, 2: 0.65}
_TWO_LOOKS: Final = {1: 0.8, 2: 0.88}
_ONE_LOOK_OF_MANY: Final = 0.85
_TWO_LOOKS_OF_MANY: Final = 0.95
# Where several places are odd, each may be why.
_SEVERAL: Final = 0.75
# What may be the device's doing, or end by itself.
_UNSURE: Final = {ProgramPoint.DISPATCH: 0.4, ProgramPoint.COMPILE: 0.6}
_UNSURE_TWICE: Final = {ProgramPoint.DISPATCH: 0.55, ProgramPoint.COMPILE: 0.65}
_MAX_REASONS: Final = 4
# Late in two looks; the looks of a job that goes on may meet it there by chance.
_SLOW: Final = 0.7
_MAYBE_SLOW: Final = 0.45
_HOSTS_WOKE: Final = "the main thread of every rank slept and woke between the two looks"
_COUNTERS_MOVED: Final = "the ranks launched more operations between the two looks"
# It works while nobody else woke once; it may still come to its end.
_ALONE_AT_WORK: Final = 0.7


class OddStack:
    """One finding for each place at which ranks stand while others wait.

    Where every host works on between two looks it is slow rather than stuck.
    Silent: where nobody waits, where the ranks that waited went on, and where no rank is known.
    """

    name = _NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings on ``case``."""
        picture = case.picture
        if picture.job_moves:
            return
        waiting, outside = split(picture)
        if not waiting or not outside:
            return
        stuck = [one for one in outside if not _is_busy(one)]
        if not stuck:
            yield from _find_busy_ranks(outside, waiting, case.ranks_asleep)
            return
        if case.hosts_move:
            yield from _find_slow_ranks(stuck, waiting, _HOSTS_WOKE, _SLOW)
            return
        if are_counters_moving(case):
            yield from _find_slow_ranks(stuck, waiting, _COUNTERS_MOVED, _MAYBE_SLOW)
            return
        firm = [one for one in stuck if one.point not in _WEAK]
        named = firm or stuck
        for one in named:
            yield _make_finding(one, waiting, others=len(named) - 1)
        for one in stuck:
            if one not in named:
                yield _make_finding(one, waiting, others=len(stuck) - 1, possible=True)


# Beside a rank that stands in a loader or a lock, these are more likely on their way.
_WEAK: Final = frozenset({ProgramPoint.CODE, ProgramPoint.DISPATCH, ProgramPoint.COMPILE})


def _is_busy(one: StackClass) -> bool:
    """Whether two looks show its ranks at different places of what they do."""
    return all(moved is StackMovement.BUSY for moved in one.movement)


def _rate_strength(one: StackClass, waiting: Sequence[RankStack], *, others: int) -> float:
    """What the claim is worth, by how many wait, how often they were looked at, and for what."""
    twice = one.stands
    of_many = _TWO_LOOKS_OF_MANY if twice else _ONE_LOOK_OF_MANY
    strength = (_TWO_LOOKS if twice else _ONE_LOOK).get(len(waiting), of_many)
    if one.point is ProgramPoint.CODE:
        # Who computes is on its way in one look, and may be slow in two.
        slow = any(stack.active for stack in one.stacks)
        strength -= (0.1 if slow else 0.02) if twice else 0.2
    if len(one.stacks) > len(waiting):
        strength *= _SEVERAL
    if any(not stack.waits for stack in waiting):
        strength -= 0.1
    most = (_UNSURE_TWICE if twice else _UNSURE).get(one.point, 1.0)
    return min(strength * (_SEVERAL if others else 1.0), most)


_SHARED: Final = "look at the storage or service that they use"


def _make_finding(
    one: StackClass, waiting: Sequence[RankStack], *, others: int, possible: bool = False
) -> Finding:
    """The claim that the others wait for the ranks of a class."""
    strength = _rate_strength(one, waiting, others=others)
    if possible:
        strength = min(strength, 0.35)
    is_many = len(one.ranks) > _MAX_RANKS and len(one.nodes) > 1
    is_storage = one.point is ProgramPoint.STORAGE
    shared = is_many or (is_storage and len(one.nodes) > 1)
    ranks = () if shared else one.ranks
    nodes = () if ranks or shared else one.nodes
    convicts = strength >= 0.5 and bool(ranks or nodes) and not possible
    count = len(waiting)
    where = describe_where(one.example)
    while_others = f"while {count} other rank{' waits' if count == 1 else 's wait'}"
    summary = f"stopped {where}"
    if shared:
        summary = (
            f"{len(one.stacks)} ranks on {len(one.nodes)} nodes stopped {where} {while_others}:"
            " what they share is at fault rather than one of them"
        )
    advice = _SHARED if shared else ""
    if not (shared or ranks or nodes):
        summary = f"{describe_who(one.example)} stopped {where} {while_others}"
        advice = "find out which rank that process is: by its node, or by names such as rank_3.txt"
    return make_look_claim(
        detector=_NAME,
        kind=VerdictKind.HANG,
        category=Category.STORAGE if is_storage else Category.HOST_STALL,
        ranks=ranks,
        nodes=nodes,
        strength=round(strength, 3),
        role=Role.CULPRIT if convicts else Role.POSSIBLE,
        summary=summary,
        because=tuple(_list_reasons(one, waiting)),
        explained_by=ANY_CAUSE - {Category.COLLECTIVE_MISMATCH},
        of_a_moment=not one.stands,
        advice=advice,
    )


def _list_reasons(one: StackClass, waiting: Sequence[RankStack]) -> Iterator[Because]:
    """The line at which each rank stands, and where the others wait."""
    twice = " in two looks" if one.stands else ""
    for stack in one.stacks[:_MAX_REASONS]:
        yield explain_stack(_NAME, stack, f"stands{twice}")
        if stack.point is ProgramPoint.DATA and stack.worker is None:
            yield Because(
                _NAME,
                "the stack of its data-loader worker was not taken (py-spy dump --subprocesses):"
                " the worker says why",
            )
    if len(one.nodes) == 1 and len(one.stacks) > 1:
        yield Because(_NAME, f"all {len(one.stacks)} ranks that stand there are on {one.nodes[0]}")
    if waiting:
        witness = waiting[0]
        frame = witness.found.told_by
        at = f", {describe_who(witness)} at {describe_frame(frame)}" if frame is not None else ""
        text = f"{len(waiting)} other ranks wait{at}" if len(waiting) > 1 else f"one waits{at}"
        yield Because(_NAME, text, witness.artifact, witness.line)


def _find_slow_ranks(
    stuck: Sequence[StackClass], waiting: Sequence[RankStack], why: str, strength: float
) -> Iterator[Finding]:
    """Ranks at one place in two looks, in a job that goes on: they are late each time."""
    where = describe_where(stuck[0].example)
    summary = f"is slow and does not hang: seen twice {where}, while all go on"
    more = (Because(_NAME, why),)
    yield from _find_late_ranks("stacks.slow", stuck, waiting, strength, summary, more)


def _find_busy_ranks(
    outside: Sequence[StackClass], waiting: Sequence[RankStack], asleep: frozenset[int]
) -> Iterator[Finding]:
    """Ranks that work on while the others stand: slow at most, since they move.

    Where none of those that wait woke once in between, all wait for the one that works.
    """
    one = outside[0]
    alone = bool(one.ranks) and all(stack.rank in asleep for stack in waiting)
    strength = _ALONE_AT_WORK if alone else _MAYBE_SLOW
    where = describe_where(one.example)
    summary = f"moved between two looks, {where}, while the others stood"
    yield from _find_late_ranks("stacks.busy", outside, waiting, strength, summary)


def _find_late_ranks(
    detector: str,
    outside: Sequence[StackClass],
    waiting: Sequence[RankStack],
    strength: float,
    summary: str,
    more: tuple[Because, ...] = (),
) -> Iterator[Finding]:
    """The claim that one class of ranks makes many others wait, in a job that moves."""
    one = outside[0]
    if len(outside) > 1 or len(one.stacks) > len(waiting) or len(waiting) < _LEAST_WAITING:
        return
    yield make_look_claim(
        detector=detector,
        kind=VerdictKind.STRAGGLER,
        category=Category.STRAGGLER,
        ranks=one.ranks[:_MAX_RANKS],
        nodes=() if one.ranks else one.nodes,
        strength=strength,
        role=Role.CULPRIT if strength >= _SLOW and (one.ranks or one.nodes) else Role.POSSIBLE,
        summary=summary,
        because=(*_list_reasons(one, waiting), *more),
        explained_by=ANY_CAUSE | {Category.STRAGGLER},
    )
