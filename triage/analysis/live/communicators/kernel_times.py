"""How late each member of a communicator comes, by how long its kernels run.

A kernel spins until the last member has come. So in one operation the kernels of all members end
together, and who comes last has the shortest. A fault of a link makes all members' kernels long
alike: nobody is late then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from triage.domain.live.communicator import Communicator

__all__ = ["LateMembers", "late_members", "times_by_member"]

# Calls in which every member waits for every other one; a root may end sooner by right.
SYNCHRONOUS: Final = frozenset({"allreduce", "allgather", "reducescatter", "alltoall"})
# Of fewer operations, or fewer members, nobody stands out.
LEAST_OPERATIONS: Final = 5
LEAST_MEMBERS: Final = 3
# Kernels of members that came together differ by less.
LEAST_GAP_US: Final = 100.0
# The gap as a share of the time of those that waited: less is worth nobody's time.
LEAST_SHARE: Final = 0.1
# Who is late is so in most operations.
LEAST_HELD: Final = 0.8
# More than this share of a group is no straggler but what is usual.
MAX_SHARE: Final = 0.25

Times = dict[int, dict[int, float]]


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


def times_by_member(communicators: Iterable[Communicator]) -> dict[tuple[int, str], Times]:
    """(communicator, function) -> rank -> operation -> us; what came twice counts once."""
    found: dict[tuple[int, str], Times] = {}
    for one in communicators:
        if one.function not in SYNCHRONOUS:
            continue
        for rank, times in one.durations_us.items():
            by_number = found.setdefault((one.hash, one.function), {}).setdefault(rank, {})
            by_number.update(zip(one.numbers.get(rank, ()), times, strict=False))
    return found


def late_members(key: tuple[int, str], times: Times, most: int = 1) -> LateMembers | None:
    """Who is late in one communicator; None where nobody stands out.

    ``times`` is rank -> operation -> us. At most a quarter of the members, or ``most``, are late.
    """
    members = sorted(rank for rank, by_number in times.items() if by_number)
    if len(members) < LEAST_MEMBERS:
        return None
    common = set.intersection(*(set(times[rank]) for rank in members))
    if len(common) < LEAST_OPERATIONS:
        return None
    usual = {rank: median(times[rank][number] for number in common) for rank in members}
    late = behind_the_gap(usual, max(most, int(len(members) * MAX_SHARE)))
    if not late:
        return None
    rest = [rank for rank in members if rank not in late]
    gaps = gaps_of(times, common, late, rest)
    gap_us = median(gaps)
    waited_us = median(usual[rank] for rank in rest)
    held = sum(gap > 0 for gap in gaps) / len(gaps)
    if gap_us < max(LEAST_GAP_US, LEAST_SHARE * waited_us) or held < LEAST_HELD:
        return None
    own_us = median(usual[rank] for rank in late)
    return LateMembers(
        *key, tuple(late), tuple(members), gap_us, held, len(common), waited_us, own_us
    )


def behind_the_gap(usual: Mapping[int, float], most: int) -> list[int]:
    """The members below the widest gap between usual times, at most ``most``; none where the
    times of the others differ among themselves as much.
    """
    ordered = sorted(usual, key=lambda rank: (usual[rank], rank))
    steps = [usual[b] - usual[a] for a, b in pairwise(ordered)]
    most = min(most, len(steps))
    place = max(range(most), key=lambda k: (steps[k], -k))
    rest = [usual[rank] for rank in ordered[place + 1 :]]
    if steps[place] <= max(rest) - min(rest):
        return []
    return sorted(ordered[: place + 1])


def gaps_of(
    times: Times, common: Iterable[int], late: Sequence[int], rest: Sequence[int]
) -> list[float]:
    """For each operation, by how much the shortest of the others' kernels is longer than the
    longest of the late ones'.
    """
    return [
        min(times[rank][number] for rank in rest) - max(times[rank][number] for rank in late)
        for number in sorted(common)
    ]
