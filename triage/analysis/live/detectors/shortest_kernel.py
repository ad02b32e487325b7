"""Shortest kernel: the rank that comes last into its collectives, as NCCL Inspector times them.

The others' kernels spin until it comes, so that its own are the shortest, operation after
operation. Its GPU or its host is slow; the network is not: a bad link makes all kernels long.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.analysis.live.case import LiveCase
from triage.analysis.live.communicators.kernel_times import (
    LateMembers,
    late_members,
    times_by_member,
)
from triage.domain.category import HARDWARE, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.report import Because

__all__ = ["ShortestKernel"]

NAME: Final = "inspector.shortest_kernel"
# From so many operations on it is no chance.
MANY_OPERATIONS: Final = 10
STRENGTH: Final = 0.8
STRENGTH_OF_MANY: Final = 0.9
MAX_NAMED: Final = 8
# Who waits in another group for this share of its own lateness is late because of that one.
FOLLOWS: Final = 0.5
EXPLAINED_BY: Final = HARDWARE | {Category.STORAGE, Category.HOST_STALL, Category.HOST_OOM}


@dataclass(frozen=True, slots=True)
class MemberPlace:
    """Who a member of a communicator is, and where a look tells of it."""

    rank: int | None
    node: str | None
    artifact: str
    line: int | None


class ShortestKernel:
    """One finding for each rank that comes last.

    Silent: on fewer than 3 members or 5 common operations, where kernels are long alike, where
    another rank comes last each time, and where the late one waits for another group itself.
    """

    name = NAME

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings on ``case``."""
        looks = [look for look in case.looks if look.tool is Tool.INSPECTOR]
        if not looks:
            return
        places = places_of(case, looks)
        times = times_by_member(one for look in looks for one in look.communicators)
        late = [
            found
            for key in sorted(times)
            if (found := late_members(key, times[key], most_of(key[0], places))) is not None
        ]
        named: set[tuple[int | None, str | None]] = set()
        origins = [one for one in late if not follows(one, late, places)]
        for one in sorted(origins, key=lambda found: (-found.late_us, found.hash, found.function)):
            for rank in one.ranks:
                place = places.get((one.hash, rank))
                if place is None or len(named) >= MAX_NAMED:
                    continue
                who = (place.rank, place.node if place.rank is None else None)
                if who not in named and who != (None, None):
                    named.add(who)
                    yield finding_of(one, place)


Places = Mapping[tuple[int, int], MemberPlace]


def places_of(case: LiveCase, looks: Sequence[Look]) -> dict[tuple[int, int], MemberPlace]:
    """(communicator, rank in it) -> who that is, as a process is known in any communicator."""
    worlds: dict[tuple[str | None, int | None], int] = {}
    members: list[tuple[int, int, Process, Look, int | None]] = []
    for look in looks:
        for communicator in look.communicators:
            for member in communicator.ranks:
                process = member.process
                members.append((communicator.hash, member.rank, process, look, member.line))
                rank = case.rank_of(process, look)
                if rank is not None and process.pid is not None:
                    worlds.setdefault((process.host, process.pid), rank)
    found: dict[tuple[int, int], MemberPlace] = {}
    for key, rank_there, process, look, line in members:
        rank = case.rank_of(process, look)
        if rank is None:
            rank = worlds.get((process.host, process.pid))
        place = MemberPlace(rank, case.node_of(process, look), look.artifact, line)
        found.setdefault((key, rank_there), place)
    return found


def most_of(key: int, places: Places) -> int:
    """How many members may be late together: all of one node, where they are less than half."""
    nodes: dict[str, int] = {}
    size = 0
    for (communicator, _), place in places.items():
        if communicator == key:
            size += 1
            if place.node is not None:
                nodes[place.node] = nodes.get(place.node, 0) + 1
    largest = max(nodes.values(), default=1)
    return largest if largest * 2 < size else 1


def follows(one: LateMembers, late: Sequence[LateMembers], places: Places) -> bool:
    """Whether who is late there waits in another group for one who is later still."""

    def who(communicator: int, rank: int) -> object:
        place = places.get((communicator, rank))
        return (communicator, rank) if place is None or place.rank is None else place.rank

    mine = {who(one.hash, rank) for rank in one.ranks}
    for other in late:
        if other is one or other.late_us < FOLLOWS * one.late_us:
            continue
        theirs = {who(other.hash, rank) for rank in other.ranks}
        waits = {who(other.hash, rank) for rank in other.members} - theirs
        if mine <= waits:
            return True
    return False


def finding_of(one: LateMembers, place: MemberPlace) -> Finding:
    """The claim that one rank comes last."""
    late_ms = one.late_us / 1000
    text = (
        f"its {one.function} kernels run {one.own_us / 1000:.2f} ms, those of the other"
        f" {len(one.members) - len(one.ranks)} members {one.usual_us / 1000:.2f} ms: they spin"
        f" until it comes, in {one.late_share:.0%} of {one.num_operations} operations"
    )
    many = one.num_operations >= MANY_OPERATIONS
    return Finding(
        detector=NAME,
        kind=VerdictKind.STRAGGLER,
        category=Category.STRAGGLER,
        ranks=() if place.rank is None else (place.rank,),
        nodes=(place.node,) if place.rank is None and place.node is not None else (),
        strength=STRENGTH_OF_MANY if many else STRENGTH,
        role=Role.CULPRIT,
        summary=f"comes {late_ms:.1f} ms late into each {one.function}, and all others wait for it",
        because=(Because(NAME, text, place.artifact, place.line),),
        explained_by=EXPLAINED_BY,
        late_ms=late_ms,
        of_looks=True,
    )
