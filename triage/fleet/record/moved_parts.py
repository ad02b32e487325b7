"""Parts that were in several nodes of a record, each with the time until which it may have been in
each: until it was seen elsewhere, or another part in its slot.

What two nodes claim at the same time is no identity: a number that firmware made up, a file of
another node, or a part that went back. Nobody is convicted by it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from triage.domain.hardware import HardwareKind, PartIdentity

HOUR_NS: Final = 3_600 * 10**9
"""Clocks of two nodes may differ by as much."""
PARTS: Final = frozenset({HardwareKind.GPU, HardwareKind.GPU_BOARD, HardwareKind.NIC})
"""What a node loses one by one when it is repaired."""


class PlacedStay(NamedTuple):
    """A part in the node at a place of the record, from the first to the last sighting.

    ``gone_ns`` is when it is known to be out, None where it is the last stay and nothing else was
    seen in its slot. ``times`` is in how many interruptions it was named there.
    """

    node: int
    kind: HardwareKind
    identity: str
    slot: str
    first_ns: int
    last_ns: int
    gone_ns: int | None = None
    times: int = 0


@dataclass(frozen=True, slots=True)
class MovedPart:
    """A part and its stays, by time; at least two nodes are among them."""

    part: PartIdentity
    stays: tuple[PlacedStay, ...]


def find_moved_parts(stays: Iterable[PlacedStay]) -> tuple[MovedPart, ...]:
    """The parts that moved, without those that two nodes claim at the same time.

    A GPU and the board it is on move together; the GPU stands for both.
    """
    of_part: dict[tuple[HardwareKind, str], dict[int, PlacedStay]] = {}
    in_slot: dict[tuple[int, HardwareKind, str], list[tuple[int, str]]] = {}
    # A database of 0.2 may have several rows of a part in one node.
    for stay in sorted(stays, key=lambda one: (one.first_ns, one.last_ns)):
        if stay.kind not in PARTS:
            continue
        nodes = of_part.setdefault((stay.kind, stay.identity), {})
        first = nodes.get(stay.node, stay)
        nodes[stay.node] = first._replace(last_ns=max(first.last_ns, stay.last_ns))
        slot = (stay.node, stay.kind, stay.slot)
        in_slot.setdefault(slot, []).append((stay.first_ns, stay.identity))
    found: list[MovedPart] = []
    ways_of_gpus: set[tuple[tuple[int, str], ...]] = set()
    boards_last = sorted(of_part.items(), key=lambda one: one[0][0] is HardwareKind.GPU_BOARD)
    for (kind, identity), nodes in boards_last:
        mine = list(nodes.values())
        way = tuple((stay.node, stay.slot) for stay in mine)
        if len(mine) < 2 or _is_contested(mine) or way in ways_of_gpus:
            continue
        if kind is HardwareKind.GPU:
            ways_of_gpus.add(way)
        listed = []
        for stay, end in zip(mine, [*(one.first_ns for one in mine[1:]), None], strict=True):
            firsts = in_slot[stay.node, kind, stay.slot] if stay.slot else []
            later = firsts[bisect_right(firsts, (stay.last_ns, "\U0010ffff")) :]
            ends = [first for first, other in later if other != identity][:1]
            gone_ns = min([*ends, *([] if end is None else [end])], default=None)
            listed.append(stay._replace(gone_ns=gone_ns))
        found.append(MovedPart(PartIdentity(kind, identity, mine[0].slot), tuple(listed)))
    return tuple(found)


def _is_contested(stays: Sequence[PlacedStay]) -> bool:
    """Whether two nodes have the part at the same time, beyond what clocks differ by.

    ``stays`` are one a node, by their beginning.
    """
    ends = [max(one.last_ns for one in stays[:place]) for place in range(1, len(stays))]
    return any(
        end - later.first_ns > HOUR_NS
        or max(later.first_ns - before.first_ns, later.last_ns - before.last_ns) <= HOUR_NS
        for end, (before, later) in zip(ends, pairwise(stays), strict=True)
    )
