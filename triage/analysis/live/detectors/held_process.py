"""Held processes: what the kernel says of a process, where no stack shows who waits.

Uninterruptible sleep in a file system, a stop by a signal, a zombie: each is telling without the
stacks of the others. Where others are seen to wait, the odd stack says it (``odd_stack.py``).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.stacks.grouping import split
from triage.analysis.live.stacks.program_points import ProgramPoint
from triage.analysis.live.stacks.rank_stack import RankStack
from triage.analysis.live.stacks.words import describe_where, describe_who, explain_stack
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

_NAME: Final = "stacks.held"
_CATEGORIES: Final = {
    ProgramPoint.STORAGE: Category.STORAGE,
    ProgramPoint.STOPPED: Category.HOST_STALL,
    ProgramPoint.GONE: Category.NCCL_TIMEOUT,
}
# A process is in the kernel's hands for a moment in every read; nothing says that others wait.
_STRENGTH: Final = 0.6
_MAX_REASONS: Final = 4


class HeldProcess:
    """One finding for each way in which processes are held.

    Silent: on none, and on ranks that stand apart from ranks that wait.
    """

    name = _NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings on ``case``."""
        picture = case.picture
        waiting, _ = split(picture)
        seen = picture.strangers if waiting else (*picture.ranks, *picture.strangers)
        by_point: dict[ProgramPoint, list[RankStack]] = defaultdict(list)
        for stack in seen:
            if stack.point in _CATEGORIES:
                by_point[stack.point].append(stack)
        for point, stacks in by_point.items():
            yield _make_finding(point, stacks)


def _make_finding(point: ProgramPoint, stacks: Sequence[RankStack]) -> Finding:
    """The claim on the ranks, else the node, of processes that are held alike."""
    nodes = tuple(sorted({one.node for one in stacks if one.node is not None}))
    shared = point is ProgramPoint.STORAGE and len(nodes) > 1
    ranks = () if shared else tuple(one.rank for one in stacks if one.rank is not None)
    named = () if ranks or shared else nodes
    summary = f"stopped {describe_where(stacks[0])}"
    if not (ranks or named):
        count = len(stacks)
        subject = describe_who(stacks[0]) if count == 1 else f"{count} processes"
        summary = f"{subject} stopped {describe_where(stacks[0])}"
    return make_look_claim(
        detector=_NAME,
        kind=VerdictKind.CRASH if point is ProgramPoint.GONE else VerdictKind.HANG,
        category=_CATEGORIES[point],
        ranks=ranks,
        nodes=named,
        strength=_STRENGTH,
        role=Role.CULPRIT if ranks or named else Role.POSSIBLE,
        summary=summary,
        because=tuple(explain_stack(_NAME, one, "stands") for one in stacks[:_MAX_REASONS]),
        of_a_moment=point is ProgramPoint.STORAGE,
        advice="look at the file system that it waits for"
        if _CATEGORIES[point] is Category.STORAGE
        else "find out whose process it is",
    )
