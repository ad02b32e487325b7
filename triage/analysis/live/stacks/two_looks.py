"""Two looks at one rank: whether it moved.

What one look shows of a job that runs is one step apart from rank to rank. What stands at the same
place twice is stuck, or waits for who is.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from triage.analysis.live.stacks.normalise import get_bare_name
from triage.analysis.live.stacks.rank_stack import RankStack, StackMovement
from triage.domain.hosts import make_natural_key
from triage.domain.live.look import Look, Tool
from triage.domain.patterns import compile_re

# Stacks that one program takes of one process within this are one look, ns.
_ONE_LOOK_NS: Final = 1_000_000_000
_NUMBERS: Final = compile_re(r"\d+")


def last_two(
    stacks: Sequence[tuple[int, RankStack]], looks: Sequence[Look]
) -> list[tuple[int, RankStack]]:
    """The newest stack of a process, and the one before it where that is another look.

    Without times, files of the same name in two folders, or numbered alike in one, are two looks;
    so is what is printed twice into one file. Files of other names may be of one moment.
    """

    def in_time(pair: tuple[int, RankStack]) -> tuple[object, ...]:
        order, stack = pair
        at_ns = looks[order].stamp.wall_ns
        return (at_ns or 0, make_natural_key(stack.artifact), stack.line or 0)

    *before, newest = sorted(stacks, key=in_time)
    other = (one for one in reversed(before) if _is_another_look(one, newest, looks))
    return [*islice(other, 1), newest]


def _is_another_look(
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
        return abs(after - before) >= _ONE_LOOK_NS
    if one.artifact == other.artifact:
        return one.line != other.line
    return _shape(one.artifact) == _shape(other.artifact)


def _shape(artifact: str) -> str:
    """The name of a file without its numbers, and without its folder."""
    return _NUMBERS.sub("#", artifact.rpartition("/")[2])


# Where every stack of a program ends at the outside.
_ROOTS: Final = frozenset({"<module>", "_bootstrap", "_worker_loop"})


def made_whole(stacks: Sequence[RankStack]) -> list[RankStack]:
    """The stacks of one rank; one that was cut, and is the same as another as far as it goes,
    stands where that one does: a disk was full, or the tool was killed.
    """
    if len(stacks) < 2:
        return list(stacks)
    before, now = stacks[-2], stacks[-1]
    if _is_part(now, before):
        now = _standing_like(now, before)
    elif _is_part(before, now):
        before = _standing_like(before, now)
    return [*stacks[:-2], before, now]


def _is_part(cut: RankStack, whole: RankStack) -> bool:
    """Whether the frames of one stack are the first that the tool printed of another."""
    count = len(cut.frames)
    if not 0 < count < len(whole.frames):
        return False
    if cut.tool is Tool.TRACEBACK:  # it prints the outermost first
        return cut.frames == whole.frames[-count:]
    return cut.frames == whole.frames[:count]


def _standing_like(cut: RankStack, whole: RankStack) -> RankStack:
    return replace(cut, found=whole.found, frames=whole.frames)


def _tells_nothing(before: RankStack, now: RankStack) -> bool:
    """Whether one of two stacks was cut where they differ: one ends where programs begin, and the
    other does not.
    """
    if not (before.is_main and now.is_main) or Tool.TRACEBACK in (before.tool, now.tool):
        return False
    ends = [get_bare_name(stack.frames[-1]) in _ROOTS for stack in (before, now) if stack.frames]
    return len(set(ends)) > 1


def compare_stacks(stacks: Sequence[RankStack]) -> StackMovement:
    """What the stacks of one rank show, the newest last."""
    if len(stacks) < 2:
        return StackMovement.ONCE
    before, now = stacks[-2], stacks[-1]
    if before.is_vague or now.is_vague:
        return StackMovement.ONCE
    if before.place == now.place:
        return StackMovement.SAME
    if _tells_nothing(before, now):
        return StackMovement.ONCE
    if before.waits:
        return StackMovement.WENT_ON
    return StackMovement.BUSY
