"""Odd wait: all ranks wait, nearly all at one place of the program and few at another.

Who waits in another collective than all the others left one out, or went into one too many; which
of both sides is wrong, stacks do not tell. The few are whom to look at.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.jobs import are_looks_moving
from triage.analysis.live.stacks.grouping import StackClass, find_odd_waits
from triage.analysis.live.stacks.program_points import ProgramPoint
from triage.analysis.live.stacks.words import describe_where, describe_who, explain_stack
from triage.domain.category import Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Because

_NAME: Final = "stacks.odd_wait"
_ONE_LOOK: Final = 0.35
_TWO_LOOKS: Final = 0.55
# A rank that was not looked at may be the one that all wait for.
_SOME_ABSENT: Final = 0.35
_MAX_REASONS: Final = 4


class OddWait:
    """One finding on the few ranks, possible at most.

    Silent: where a rank stands outside any wait, where the job moves, and where ranks wait at
    several places as groups of a job do.
    """

    name = _NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The finding on ``case``."""
        if are_looks_moving(case):
            return
        classes = find_odd_waits(case.picture)
        if not classes:
            return
        usual, *odd = classes
        twice = all(one.stands for one in classes)
        strength = _TWO_LOOKS if twice else _ONE_LOOK
        if len(case.picture.ranks) < (case.world_size or case.fleet.world_size or 0):
            strength = min(strength, _SOME_ABSENT)
        ranks = tuple(sorted(rank for one in odd for rank in one.ranks))
        nodes = () if ranks else tuple(sorted({node for one in odd for node in one.nodes}))
        example = odd[0].example
        where = f"waits {describe_where(example)}, and not where the others do"
        both = all(one.point is ProgramPoint.COLLECTIVE for one in classes)
        yield make_look_claim(
            detector=_NAME,
            kind=VerdictKind.DESYNC if twice else VerdictKind.INCONCLUSIVE,
            category=Category.COLLECTIVE_MISMATCH if both else Category.HOST_STALL,
            ranks=ranks,
            nodes=nodes,
            strength=strength,
            summary=where if ranks or nodes else f"{describe_who(example)} {where}",
            because=tuple(_list_reasons(usual, odd, twice=twice)),
            of_a_moment=not twice,
            advice="compare the way of those ranks through the program with that of the others",
            one_of=len(odd) > 1,
        )


def _list_reasons(
    usual: StackClass, odd: Sequence[StackClass], *, twice: bool
) -> Iterator[Because]:
    looked = " in two looks" if twice else ""
    for one in odd:
        for stack in one.stacks[:_MAX_REASONS]:
            yield explain_stack(_NAME, stack, f"waits{looked}")
    stack = usual.example
    text = f"{len(usual.stacks)} others wait{looked} {describe_where(stack)}"
    yield Because(_NAME, text, stack.artifact, stack.line)
