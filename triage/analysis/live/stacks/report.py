"""The classes of stacks as a report holds them."""

from collections.abc import Sequence
from typing import Final

from triage.analysis.live.stacks.grouping import StackClass, group_stacks
from triage.analysis.live.stacks.picture import StackPicture
from triage.analysis.live.stacks.words import describe_frame, get_line
from triage.domain.report import StandingRanks

# Classes that are told, and frames of each: a fleet has few places to stand at.
_MAX_CLASSES: Final = 32
_MAX_FRAMES: Final = 48


def classes_for_report(picture: StackPicture) -> tuple[StandingRanks, ...]:
    """The largest classes, frames from the outside to the inside."""
    pairs = list(zip(picture.ranks, picture.movement, strict=True))
    return tuple(_make_standing_ranks(one) for one in group_stacks(pairs)[:_MAX_CLASSES])


def _make_standing_ranks(one: StackClass) -> StandingRanks:
    return StandingRanks(
        ranks=one.ranks,
        nodes=one.nodes,
        frames=tuple(_list_frames(one)),
        state=str(one.point),
        seen_twice=one.stands,
        stands_at=get_line(one.example),
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
