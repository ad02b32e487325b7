"""Looks soon behind the end of a job, by its log: whether they show that it stands all the same.

"Training completed" is what one rank says, and the bar of an epoch is full before its evaluation.
What follows in order is a last checkpoint, an export or an upload, for which the other ranks wait
in a barrier, and the end of the processes. Anything else that two looks show alike is a stop.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.communicators.rounds import are_looks_moving
from triage.analysis.live.stacks.grouping import split
from triage.analysis.live.stacks.picture import StackPicture
from triage.analysis.live.stacks.program_points import PROGRAMS, get_bare_name
from triage.analysis.live.stacks.rank_stack import RankStack
from triage.domain.category import Role, VerdictKind
from triage.domain.finding import Finding

_ENDS: Final = PROGRAMS["ends"]
_ENDING: Final = frozenset({"finalize", "abort"})
_OF_STACKS: Final = "stacks."
_OF_COUNTERS: Final = "ras."
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
    if not standing or are_looks_moving(case):
        return []
    # The job's log numbers its processes, and none of those that were looked at is one.
    own = {pid for _, pid in case.fleet.rank_by_pid}
    seen = {process.pid for look in case.looks for process in look.list_processes()} - {None}
    if own and seen and not own & seen:
        return []
    communicators = (one for look in case.looks for one in look.communicators)
    if any(member.status in _ENDING for one in communicators for member in one.ranks):
        return []
    if not case.picture.telling:
        return [
            replace(one, role=Role.POSSIBLE, strength=min(one.strength, _BY_COUNTERS))
            for one in standing
        ]
    if _ends_in_order(case.picture):
        return []
    return [one for one in standing if one.detector.startswith(_OF_STACKS)]


def _ends_in_order(picture: StackPicture) -> bool:
    """Whether ranks stand where they do when a job ends."""
    waiting, outside = split(picture)
    if outside:
        return any(_stands_in(one.example, _ENDS["leaves"]) for one in outside)
    return all(_stands_in(one, _ENDS["meets"]) for one in waiting)


def _stands_in(stack: RankStack, names: Collection[str]) -> bool:
    """Whether it is at a point of the end, or a frame is in a function of one of these names."""
    return stack.point in _ENDS["points"] or any(
        get_bare_name(frame) in names for frame in stack.frames
    )
