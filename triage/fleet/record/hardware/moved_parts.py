"""Parts that were in several nodes of a record, each stay with the time until which it may have
lasted: until the part was seen elsewhere, or another one in its slot.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from triage.domain.hardware import HardwareKind, PartIdentity
from triage.fleet.record.hardware.part_stays import PARTS, PlacedStay, by_identity

__all__ = ["MovedPart", "MovedStay", "moved_parts"]

Slot = tuple[int, HardwareKind, str]


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
    """The parts that moved. ``stays`` are of identities that one node has at a time.

    A GPU and the board it is on move together; the GPU stands for both.
    """
    told = [stay for stay in stays if stay.kind in PARTS]
    in_slot: dict[Slot, list[tuple[int, str]]] = {}
    for stay in told:
        if stay.slot:
            slot = (stay.node, stay.kind, stay.slot)
            in_slot.setdefault(slot, []).append((stay.first_ns, stay.identity))
    for firsts in in_slot.values():
        firsts.sort()
    found: list[MovedPart] = []
    ways_of_gpus: set[tuple[tuple[int, str], ...]] = set()
    of_boards_last = sorted(
        by_identity(told), key=lambda mine: mine[0].kind is HardwareKind.GPU_BOARD
    )
    for mine in of_boards_last:
        if len({stay.node for stay in mine}) < 2:
            continue
        part, way = mine[0].part, tuple((stay.node, stay.slot) for stay in mine)
        if part.kind is HardwareKind.GPU_BOARD and way in ways_of_gpus:
            continue
        if part.kind is HardwareKind.GPU:
            ways_of_gpus.add(way)
        ends = [*(stay.first_ns for stay in mine[1:]), None]
        listed = (
            MovedStay(stay.node, stay.slot, stay.first_ns, stay.last_ns, gone(stay, end, in_slot))
            for stay, end in zip(mine, ends, strict=True)
        )
        found.append(MovedPart(part, tuple(listed)))
    return tuple(found)


def gone(
    stay: PlacedStay, end: int | None, in_slot: dict[Slot, list[tuple[int, str]]]
) -> int | None:
    """When the part was seen in another node, or another part in its slot."""
    firsts = in_slot.get((stay.node, stay.kind, stay.slot), [])
    later = firsts[bisect_right(firsts, (stay.last_ns, "\U0010ffff")) :]
    other = next((first for first, identity in later if identity != stay.identity), None)
    known = [at for at in (end, other) if at is not None]
    return min(known, default=None)
