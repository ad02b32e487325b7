"""Classes of ranks: those that stand at the same place of the program, the largest first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from triage.analysis.live.stacks.picture import StackPicture
from triage.analysis.live.stacks.program_points import ProgramPoint
from triage.analysis.live.stacks.rank_stack import (
    RankStack,
    StackMovement,
    describe_frame,
    get_line,
)
from triage.domain.report import StandingRanks

# A class of this share, all at one line, is the crowd, whatever it does there: ``loss.item()``
# shows as a line of the program, and so does a wait in C.
_CROWD: Final = 0.5
_LEAST_CROWD: Final = 3
_CROWDED: Final = frozenset({ProgramPoint.CODE, ProgramPoint.DISPATCH, ProgramPoint.TEARDOWN})


@dataclass(frozen=True, slots=True)
class StackClass:
    """``stacks`` are those of the ranks that stand here, by rank."""

    point: ProgramPoint
    stacks: tuple[RankStack, ...]

    @property
    def example(self) -> RankStack:
        """The stack of its lowest rank."""
        return self.stacks[0]

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its ranks, ascending."""
        return tuple(one.rank for one in self.stacks if one.rank is not None)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of its ranks, in order."""
        return tuple(sorted({one.node for one in self.stacks if one.node is not None}))

    @property
    def stands(self) -> bool:
        """Whether two looks show all of its ranks at one place."""
        return all(one.moved is StackMovement.SAME for one in self.stacks)


def group_stacks(stacks: Iterable[RankStack]) -> list[StackClass]:
    """The classes of ``stacks``, the largest first.

    Two ranks at neighbouring lines of one function, outside any wait, are of one class.
    """
    groups: dict[tuple[object, ...], list[RankStack]] = defaultdict(list)
    for stack in stacks:
        groups[_make_key(stack)].append(stack)
    found = [StackClass(members[0].point, tuple(members)) for members in groups.values()]
    return sorted(found, key=lambda one: (-len(one.stacks), one.ranks, str(one.point)))


def _make_key(stack: RankStack) -> tuple[object, ...]:
    if stack.waits:
        return stack.place
    line = stack.worker.found.told_by if stack.worker is not None else stack.found.told_by
    holder = stack.holder[0].function if stack.holder else None
    where = (line.function, line.filename) if line is not None else None
    return (stack.point, where, holder)


def split(picture: StackPicture) -> tuple[list[RankStack], list[StackClass]]:
    """The stacks that wait, and the classes that do not; a crowd at one line waits."""
    telling = picture.telling
    waiting = [one for one in telling if one.waits]
    classes = group_stacks(one for one in telling if not one.waits)
    if classes and classes[0].point in _CROWDED:
        crowd = classes[0]
        size = len(crowd.stacks)
        if size >= _LEAST_CROWD and size > _CROWD * len(telling):
            waiting += crowd.stacks
            classes = classes[1:]
    return waiting, classes


# From so many ranks at one place on, one at another place is odd.
_LEAST_USUAL: Final = 3
# More of them wait elsewhere than this share in groups of a job: stages, replicas.
_MAX_SHARE: Final = 1 / 8


def find_odd_waits(picture: StackPicture) -> list[StackClass]:
    """The class of nearly all ranks, then those of the few others; empty where there are none, or
    where any rank stands outside a wait.
    """
    telling = picture.telling
    waiting, outside = split(picture)
    if outside or len(waiting) < len(telling):
        return []
    classes = group_stacks(telling)
    if len(classes) < 2 or any(not stack.waits for one in classes for stack in one.stacks):
        return []
    usual = len(classes[0].stacks)
    others = len(telling) - usual
    if usual < _LEAST_USUAL or others > max(1, _MAX_SHARE * len(telling)):
        return []
    return classes


# Classes that are told, and frames of each: a fleet has few places to stand at.
_MAX_CLASSES: Final = 32
_MAX_FRAMES: Final = 48


def classes_for_report(picture: StackPicture) -> tuple[StandingRanks, ...]:
    """The largest classes, frames from the outside to the inside."""
    return tuple(
        StandingRanks(
            ranks=one.ranks,
            nodes=one.nodes,
            frames=tuple(_list_frames(one)),
            state=str(one.point),
            seen_twice=one.stands,
            stands_at=get_line(one.example),
        )
        for one in group_stacks(picture.ranks)[:_MAX_CLASSES]
    )


def _list_frames(one: StackClass) -> Sequence[str]:
    """The frames of an example, and below them those of what it waits for in its process."""
    stack = one.example
    frames = [*reversed(stack.frames)]
    if stack.worker is not None:
        frames += reversed(stack.worker.frames)
    elif stack.holder:
        frames += reversed(stack.holder)
    texts = [describe_frame(frame) for frame in frames]
    if len(texts) > _MAX_FRAMES:
        left = len(texts) - _MAX_FRAMES + 1
        texts[_MAX_FRAMES // 2 : _MAX_FRAMES // 2 + left] = [f"... {left} more ..."]
    return texts
