"""Shortest kernel: the rank that comes last into its collectives, as NCCL Inspector times them.

The others' kernels spin until it comes, so that its own are the shortest, operation after
operation. Its GPU or its host is slow; the network is not: a bad link makes all kernels long.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.domain.category import HARDWARE, Category, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import Communicator
from triage.domain.live.look import Tool
from triage.domain.report import Because

_NAME: Final = "inspector.shortest_kernel"
# From so many operations on it is no chance.
_MANY_OPERATIONS: Final = 10
_STRENGTH: Final = 0.8
_STRENGTH_OF_MANY: Final = 0.9
_MAX_NAMED: Final = 8
# Who waits in another group for this share of its own lateness is late because of that one.
_FOLLOWS: Final = 0.5
_EXPLAINED_BY: Final = HARDWARE | {Category.STORAGE, Category.HOST_STALL, Category.HOST_OOM}


class _MemberPlace(NamedTuple):
    """Who a member of a communicator is, and where a look tells of it."""

    rank: int | None
    node: str | None
    artifact: str
    line: int | None


_Places = Mapping[tuple[int, int], _MemberPlace]


def find_shortest_kernels(case: LiveCase) -> Iterator[Finding]:
    """One finding for each rank that comes last.

    Silent: on fewer than 3 members or 5 common operations, where kernels are long alike, where
    another rank comes last each time, and where the late one waits for another group itself.
    """
    looks = [look for look in case.looks if look.tool is Tool.INSPECTOR]
    places: dict[tuple[int, int], _MemberPlace] = {}
    for look in looks:
        for one in look.communicators:
            for member in one.ranks:
                rank = case.rank_of(member.process, look)
                node = case.node_of(member.process, look)
                place = _MemberPlace(rank, node, look.artifact, member.line)
                places.setdefault((one.hash, member.rank), place)
    times = collect_times(one for look in looks for one in look.communicators)
    judged = (
        find_late_members(key, times[key], _count_most_late(key[0], places))
        for key in sorted(times)
    )
    late = [one for one in judged if one is not None]
    named: set[tuple[int | None, str | None]] = {(None, None)}
    origins = [one for one in late if not _follows(one, late, places)]
    for found in sorted(origins, key=lambda one: (-one.late_us, one.hash, one.function)):
        for rank in found.ranks:
            at = places[found.hash, rank]
            who = (at.rank, at.node if at.rank is None else None)
            if who not in named and len(named) <= _MAX_NAMED:
                named.add(who)
                yield _make_finding(found, at)


def _count_most_late(key: int, places: _Places) -> int:
    """How many members may be late together: all of one node, where they are less than half."""
    members = [place.node for (communicator, _), place in places.items() if communicator == key]
    nodes = Counter(node for node in members if node is not None)
    largest = max(nodes.values(), default=1)
    return largest if largest * 2 < len(members) else 1


# A kernel spins until the last member has come. So in one operation the kernels of all members end
# together, and who comes last has the shortest. A fault of a link makes all members' kernels long
# alike: nobody is late then.

# Calls in which every member waits for every other one; a root may end sooner by right.
_SYNCHRONOUS: Final = frozenset({"allreduce", "allgather", "reducescatter", "alltoall"})
# Of fewer operations, or fewer members, nobody stands out.
_LEAST_OPERATIONS: Final = 5
_LEAST_MEMBERS: Final = 3
# Kernels of members that came together differ by less.
_LEAST_GAP_US: Final = 100.0
# The gap as a share of the time of those that waited: less is worth nobody's time.
_LEAST_SHARE: Final = 0.1
# Who is late is so in most operations.
_LEAST_HELD: Final = 0.8
# More than this share of a group is no straggler but what is usual.
_MAX_SHARE: Final = 0.25

_Times = dict[int, dict[int, float]]


@dataclass(frozen=True, slots=True)
class LateMembers:
    """``ranks`` of a communicator come ``late_us`` after the others, in ``late_share`` of
    ``num_operations``; ``usual_us`` is how long the others' kernels run, ``own_us`` theirs.
    """

    hash: int
    function: str
    ranks: tuple[int, ...]
    members: tuple[int, ...]
    late_us: float
    late_share: float
    num_operations: int
    usual_us: float
    own_us: float


def collect_times(communicators: Iterable[Communicator]) -> dict[tuple[int, str], _Times]:
    """(communicator, function) -> rank -> operation -> us; what came twice counts once."""
    found: dict[tuple[int, str], _Times] = {}
    for one in communicators:
        if one.function not in _SYNCHRONOUS:
            continue
        for rank, times in one.durations_us.items():
            by_number = found.setdefault((one.hash, one.function), {}).setdefault(rank, {})
            by_number.update(zip(one.numbers.get(rank, ()), times, strict=False))
    return found


def find_late_members(key: tuple[int, str], times: _Times, most: int = 1) -> LateMembers | None:
    """Who is late in one communicator; None where nobody stands out.

    ``times`` is rank -> operation -> us. At most a quarter of the members, or ``most``, are late.
    """
    members = sorted(rank for rank, by_number in times.items() if by_number)
    if len(members) < _LEAST_MEMBERS:
        return None
    common = sorted(set.intersection(*(set(times[rank]) for rank in members)))
    if len(common) < _LEAST_OPERATIONS:
        return None
    took = np.array([[times[rank][number] for number in common] for rank in members], np.float64)
    usual = np.median(took, axis=1)
    order = np.argsort(usual, kind="stable")
    # The late ones are those below the widest gap between usual times, at most ``most``.
    steps = np.diff(usual[order])
    place = int(np.argmax(steps[: max(most, int(len(members) * _MAX_SHARE))]))
    late, rest = np.sort(order[: place + 1]), order[place + 1 :]
    if steps[place] <= np.ptp(usual[rest]):
        return None  # the times of the others differ among themselves as much
    # By how much the shortest of the others' kernels is longer than the longest of the late ones'.
    gaps = took[rest].min(axis=0) - took[late].max(axis=0)
    gap_us, waited_us = float(np.median(gaps)), float(np.median(usual[rest]))
    held = float(np.mean(gaps > 0))
    if gap_us < max(_LEAST_GAP_US, _LEAST_SHARE * waited_us) or held < _LEAST_HELD:
        return None
    return LateMembers(
        *key,
        tuple(members[k] for k in late),
        tuple(members),
        gap_us,
        held,
        len(common),
        waited_us,
        float(np.median(usual[late])),
    )


def _follows(one: LateMembers, late: Sequence[LateMembers], places: _Places) -> bool:
    """Whether who is late there waits in another group for one who is later still."""

    def who(communicator: int, rank: int) -> object:
        place = places.get((communicator, rank))
        return (communicator, rank) if place is None or place.rank is None else place.rank

    mine = {who(one.hash, rank) for rank in one.ranks}
    return any(
        other is not one
        and other.late_us >= _FOLLOWS * one.late_us
        and mine <= {who(other.hash, rank) for rank in {*other.members} - {*other.ranks}}
        for other in late
    )


def _make_finding(one: LateMembers, place: _MemberPlace) -> Finding:
    late_ms = one.late_us / 1000
    text = (
        f"its {one.function} kernels run {one.own_us / 1000:.2f} ms, those of the other"
        f" {len(one.members) - len(one.ranks)} members {one.usual_us / 1000:.2f} ms: they spin"
        f" until it comes, in {one.late_share:.0%} of {one.num_operations} operations"
    )
    many = one.num_operations >= _MANY_OPERATIONS
    return make_look_claim(
        _NAME,
        f"comes {late_ms:.1f} ms late into each {one.function}, and all others wait for it",
        ranks=(place.rank,),
        or_nodes=(place.node,),
        convicts=True,
        kind=VerdictKind.STRAGGLER,
        category=Category.STRAGGLER,
        strength=_STRENGTH_OF_MANY if many else _STRENGTH,
        because=(Because(_NAME, text, place.artifact, place.line),),
        explained_by=_EXPLAINED_BY,
        late_ms=late_ms,
    )
