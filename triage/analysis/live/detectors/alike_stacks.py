"""Alike stacks: all ranks wait, so that no host is at fault.

What holds them is below the program: a device, the fabric, NCCL, or a rank of which there is no
stack. Public cases of 512 and 704 processes look like this.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.jobs import are_looks_moving
from triage.analysis.live.stacks.grouping import StackClass, find_odd_waits, group_stacks, split
from triage.analysis.live.stacks.normalise import PROGRAMS
from triage.analysis.live.stacks.picture import StackPicture
from triage.analysis.live.stacks.program_points import ProgramPoint
from triage.analysis.live.stacks.words import describe_frame
from triage.domain.category import HARDWARE, SOFTWARE, Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Because

_NAME: Final = "stacks.all_alike"
# From so many ranks on, their being alike says something.
_LEAST: Final = 2
_ONE_LOOK: Final = 0.4
# What holds them all may be one device: that is not known, and is said so.
_TWO_LOOKS: Final = 0.5
# A rank that was not looked at may be the one that the others wait for.
_SOME_ABSENT: Final = 0.3
_MAX_PLACES: Final = 3
_BELOW: Final = (
    "look at the power and utilisation of each GPU (one idle among many that spin is the odd one),"
    " at NCCL RAS or flight-recorder dumps, at links and at NCCL's own log"
)
_MEETING: Final = "look for the ranks that did not come, and at the network between the nodes"
_EXPLAINED_BY: Final = (
    HARDWARE
    | SOFTWARE
    | {Category.DEPENDENCY, Category.HOST_MAINTENANCE, Category.GPU_OOM, Category.HOST_OOM}
)


class AlikeStacks:
    """One finding on nobody where all ranks wait.

    Silent: on one rank, where a rank stands elsewhere, and where the job moves.
    """

    name = _NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings on ``case``."""
        picture = case.picture
        telling = picture.telling
        waiting, outside = split(picture)
        if (
            are_looks_moving(case)
            or outside
            or find_odd_waits(picture)
            or len(telling) < _LEAST
            or len(waiting) < len(telling)
        ):
            return
        classes = group_stacks(telling)
        twice = all(one.stands for one in classes)
        meets = all(one.point in _MEETS for one in classes)
        count = len(telling)
        places = " or ".join(_place_text(one) for one in classes[:_MAX_PLACES])
        absent = _count_absent(case, picture)
        those = "none of these hosts" if absent else "no host"
        summary = f"all {count} ranks wait {places}: {those} is at fault"
        if len(classes) > 1:
            summary = (
                f"all {count} ranks wait, at {len(classes)} places of the program ({places}), and"
                " stacks alone do not tell who is waited for"
            )
        alike = (_TWO_LOOKS if twice else _ONE_LOOK) - 0.1 * (len(classes) > 1)
        if absent:
            summary += f"; of {absent} ranks there is no stack"
        yield make_look_claim(
            detector=_NAME,
            # A job that runs well looks the same for the blink of an eye.
            kind=VerdictKind.HANG if twice else VerdictKind.INCONCLUSIVE,
            category=Category.NCCL_TIMEOUT,
            strength=_SOME_ABSENT if absent else alike,
            summary=summary,
            because=tuple(_list_reasons(classes, twice=twice)),
            explained_by=_EXPLAINED_BY,
            of_a_moment=not twice,
            advice=_MEETING if meets else _BELOW,
        )


_MEETS: Final = frozenset({ProgramPoint.STORE, ProgramPoint.NCCL_INIT})


def _place_text(one: StackClass) -> str:
    line = one.example.found.told_by
    at = f" at {describe_frame(line)}" if line is not None else ""
    return f"{PROGRAMS['waiting_words'].get(one.point, 'at one line')}{at}"


def _count_absent(case: LiveCase, picture: StackPicture) -> int:
    """Of how many ranks of the job there is no stack; where no rank is known, by processes."""
    world = case.world_size or case.fleet.world_size or 0
    seen = {one.rank for one in picture.ranks}
    return max(world - (len(picture.ranks) if None in seen else len(seen)), 0)


def _list_reasons(classes: Sequence[StackClass], *, twice: bool) -> Iterator[Because]:
    looked = " in both looks" if twice else ""
    for one in classes[:_MAX_PLACES]:
        text = f"{len(one.stacks)} ranks wait{looked} {_place_text(one)}"
        yield Because(_NAME, text, one.example.artifact, one.example.line)
