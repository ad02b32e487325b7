"""Parts that were in several nodes of a record, each stay with the time until which it may have
lasted: until the part was seen elsewhere, or another one in its slot.

What two nodes claim at the same time is no identity: a number that firmware made up, a file of
another node, or two records that contradict each other. Nobody is convicted by it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from triage.domain.hardware import HardwareKind, PartIdentity

__all__ = ["HOUR_NS", "PARTS", "MovedPart", "MovedStay", "PlacedStay", "moved_parts"]

HOUR_NS: Final = 3_600 * 10**9
PARTS: Final = frozenset({HardwareKind.GPU, HardwareKind.GPU_BOARD, HardwareKind.NIC})
"""What a node loses one by one when it is repaired."""
# Between two nodes to and fro so often, each time within so short a while: two files of one name.
TO_AND_FRO: Final = 5
WITHIN_NS: Final = 48 * HOUR_NS

Slot = tuple[int, HardwareKind, str]


class PlacedStay(NamedTuple):
    """A part in the node at a place of the record, from the first to the last sighting."""

    node: int
    kind: HardwareKind
    identity: str
    slot: str
    first_ns: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class MovedStay:
    """A part in the node at a place of the record. ``gone_ns`` is when it is known to be out, None
    where it is the last stay and nothing else was seen in its slot.
    """

    node: int
    slot: str
    first_ns: int
    last_ns: int
    gone_ns: int | None


@dataclass(frozen=True, slots=True)
class MovedPart:
    """A part and its stays, by time; at least two nodes are among them."""

    part: PartIdentity
    stays: tuple[MovedStay, ...]


def moved_parts(stays: Iterable[PlacedStay]) -> tuple[MovedPart, ...]:
    """The parts that moved, without those that two nodes claim at the same time.

    A GPU and the board it is on move together; the GPU stands for both.
    """
    movable = [stay for stay in stays if stay.kind in PARTS]
    of_part: dict[tuple[HardwareKind, str], list[PlacedStay]] = {}
    for stay in sorted(movable, key=lambda one: (one.first_ns, one.last_ns, one.node)):
        of_part.setdefault((stay.kind, stay.identity), []).append(stay)
    in_slot: dict[Slot, list[tuple[int, str]]] = {}
    for mine in of_part.values():
        if not is_contested(mine):
            for stay in mine:
                slot = (stay.node, stay.kind, stay.slot)
                in_slot.setdefault(slot, []).append((stay.first_ns, stay.identity))
    for firsts in in_slot.values():
        firsts.sort()
    found: list[MovedPart] = []
    ways_of_gpus: set[tuple[tuple[int, str], ...]] = set()
    boards_last = sorted(of_part.values(), key=lambda one: one[0].kind is HardwareKind.GPU_BOARD)
    for mine in boards_last:
        if len({stay.node for stay in mine}) < 2 or is_contested(mine):
            continue
        part, way = mine[0], tuple((stay.node, stay.slot) for stay in mine)
        if part.kind is HardwareKind.GPU_BOARD and way in ways_of_gpus:
            continue
        if part.kind is HardwareKind.GPU:
            ways_of_gpus.add(way)
        ends = [*(stay.first_ns for stay in mine[1:]), None]
        listed = (
            MovedStay(stay.node, stay.slot, stay.first_ns, stay.last_ns, gone(stay, end, in_slot))
            for stay, end in zip(mine, ends, strict=True)
        )
        identity = PartIdentity(part.kind, part.identity, part.slot)
        found.append(MovedPart(identity, tuple(listed)))
    return tuple(found)


def gone(
    stay: PlacedStay, end: int | None, in_slot: dict[Slot, list[tuple[int, str]]]
) -> int | None:
    """When the part was seen in another node, or another part in its slot."""
    firsts = in_slot[stay.node, stay.kind, stay.slot] if stay.slot else []
    later = firsts[bisect_right(firsts, (stay.last_ns, "\U0010ffff")) :]
    other = next((first for first, identity in later if identity != stay.identity), None)
    known = [at for at in (end, other) if at is not None]
    return min(known, default=None)


def is_contested(stays: Sequence[PlacedStay]) -> bool:
    """Whether two nodes have the part at the same time, beyond what clocks differ by, or it
    changes between nodes faster than people move parts.
    """
    for place, later in enumerate(stays):
        for before in stays[:place]:
            overlap = min(before.last_ns, later.last_ns) - later.first_ns
            apart = max(later.first_ns - before.first_ns, later.last_ns - before.last_ns)
            at_once = overlap > HOUR_NS or (overlap >= -HOUR_NS and apart <= HOUR_NS)
            if before.node != later.node and at_once:
                return True
    quick = [
        later.first_ns - earlier.last_ns <= WITHIN_NS
        for earlier, later in pairwise(stays)
        if later.node != earlier.node
    ]
    return len(quick) >= TO_AND_FRO - 1 and sum(quick) * 2 > len(quick)
