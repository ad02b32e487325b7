"""Two looks at one rank: whether it moved.

What one look shows of a job that runs is one step apart from rank to rank. What stands at the same
place twice is stuck, or waits for who is.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from triage.analysis.live.stacks.rank_stack import RankStack
from triage.domain.live.look import Look
from triage.domain.natural import natural

__all__ = ["StackMovement", "last_two", "movement_of"]

# Stacks that one program takes of one process within this are one look, ns.
ONE_LOOK_NS: Final = 1_000_000_000
NUMBERS: Final = re.compile(r"\d+")


class StackMovement(StrEnum):
    """What two looks show of a rank."""

    ONCE = "once"  # there is only one look
    SAME = "same"  # it stands at the same place
    BUSY = "busy"  # it is elsewhere in what it does, outside any wait
    WENT_ON = "went_on"  # it left the place at which it waited


def last_two(
    stacks: Sequence[tuple[int, RankStack]], looks: Sequence[Look]
) -> list[tuple[int, RankStack]]:
    """The newest stack of a process, and the one before it where that is another look.

    Without times, files of the same name in two folders, or numbered alike in one, are two looks;
    so is what is printed twice into one file. Files of other names may be of one moment.
    """
    ordered = sorted(stacks, key=lambda pair: in_time(pair, looks))
    newest = ordered[-1]
    for earlier in reversed(ordered[:-1]):
        if is_another_look(earlier, newest, looks):
            return [earlier, newest]
    return [newest]


def in_time(pair: tuple[int, RankStack], looks: Sequence[Look]) -> tuple[object, ...]:
    order, stack = pair
    at_ns = looks[order].stamp.wall_ns
    return (at_ns or 0, natural(stack.artifact), stack.line or 0)


def is_another_look(
    earlier: tuple[int, RankStack], later: tuple[int, RankStack], looks: Sequence[Look]
) -> bool:
    """Whether two stacks of one process are of two moments."""
    (first, one), (second, other) = earlier, later
    if one.pid != other.pid and None not in (one.pid, other.pid):
        return False  # another process: another attempt of the job, or another namespace
    homes = {looks[first].node, looks[second].node} - {None}
    if len(homes) > 1:
        return False  # files of two nodes that count their ranks alike
    if first == second:
        return one.line != other.line
    before, after = (looks[order].stamp.wall_ns for order in (first, second))
    if before is not None and after is not None:
        return abs(after - before) >= ONE_LOOK_NS
    if one.artifact == other.artifact:
        return one.line != other.line
    return shape(one.artifact) == shape(other.artifact)


def shape(artifact: str) -> str:
    """The name of a file without its numbers, and without its folder."""
    return NUMBERS.sub("#", artifact.rpartition("/")[2])


def movement_of(stacks: Sequence[RankStack]) -> StackMovement:
    """What the stacks of one rank show, the newest last."""
    if len(stacks) < 2:
        return StackMovement.ONCE
    before, now = stacks[-2], stacks[-1]
    if before.is_vague or now.is_vague:
        return StackMovement.ONCE
    if before.place == now.place:
        return StackMovement.SAME
    if before.waits:
        return StackMovement.WENT_ON
    return StackMovement.BUSY
