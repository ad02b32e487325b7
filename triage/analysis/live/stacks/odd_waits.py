"""Where all ranks wait: whether nearly all do so at one place of the program, and who does not."""

from typing import Final

from triage.analysis.live.stacks.grouping import StackClass, group_stacks, split
from triage.analysis.live.stacks.picture import StackPicture

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
