"""Looks soon behind the end of a job, by its log: whether they show that it stands all the same.

"Training completed" is what one rank says, and the bar of an epoch is full before its evaluation.
What follows in order is a last checkpoint, an export or an upload, for which the other ranks wait
in a barrier, and the end of the processes. Anything else that two looks show alike is a stop.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.jobs import are_looks_moving
from triage.analysis.live.stacks.grouping import split
from triage.analysis.live.stacks.normalise import PROGRAMS, get_bare_name
from triage.analysis.live.stacks.picture import StackPicture
from triage.analysis.live.stacks.rank_stack import RankStack
from triage.domain.category import Role, VerdictKind
from triage.domain.finding import Finding

_ENDS: Final = PROGRAMS["ends"]
_ENDING: Final = frozenset({"finalize", "abort"})
# What only counts operations does not tell a barrier from a step, nor what is done meanwhile.
_BY_COUNTERS: Final = 0.5


def stops_behind_the_end(case: LiveCase, claims: Iterable[Finding]) -> list[Finding]:
    """Of ``claims`` of looks those of a job that stands behind its end; none where what they show
    is how jobs end, or is of other processes than the job's.
    """
    standing = [
        one
        for one in claims
        if one.kind is VerdictKind.HANG
        and not one.of_a_moment
        and one.detector.startswith((_OF_STACKS, _OF_COUNTERS))
    ]
    if not standing or are_looks_moving(case) or _is_of_others(case) or _finalizes(case):
        return []
    if not case.picture.telling:
        return [_as_possible(one) for one in standing]
    if _ends_in_order(case.picture):
        return []
    return [one for one in standing if one.detector.startswith(_OF_STACKS)]


_OF_STACKS: Final = "stacks."
_OF_COUNTERS: Final = "ras."


def _ends_in_order(picture: StackPicture) -> bool:
    """Whether ranks stand where they do when a job ends."""
    waiting, outside = split(picture)
    if any(one.point in _ENDS["points"] or _is_in(one.example, _ENDS["leaves"]) for one in outside):
        return True
    return not outside and all(_is_leaving(one) for one in waiting)


def _is_leaving(stack: RankStack) -> bool:
    return stack.point in _ENDS["points"] or _is_in(stack, _ENDS["meets"])


def _is_in(stack: RankStack, names: Collection[str]) -> bool:
    """Whether a frame of it is in a function of one of these names."""
    return any(get_bare_name(frame) in names for frame in stack.frames)


def _finalizes(case: LiveCase) -> bool:
    """Whether a communicator of the job is taken down."""
    return any(
        member.status in _ENDING
        for look in case.looks
        for one in look.communicators
        for member in one.ranks
    )


def _is_of_others(case: LiveCase) -> bool:
    """Whether the job's log numbers its processes, and none of those that were looked at is one."""
    own = {pid for _, pid in case.fleet.rank_by_pid}
    seen = {process.pid for look in case.looks for process in look.list_processes()} - {None}
    return bool(own) and bool(seen) and not own & seen


def _as_possible(claim: Finding) -> Finding:
    return replace(claim, role=Role.POSSIBLE, strength=min(claim.strength, _BY_COUNTERS))
