"""Stays as a record has them: by the place of their node, in ns; and identities that are none.

What two nodes claim at the same time is no identity: a number that firmware made up, a file of
another node, or two records that contradict each other. Nobody is convicted by it.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from triage.domain.hardware import HardwareKind, PartIdentity

__all__ = ["HOUR_NS", "PARTS", "Contested", "PlacedStay", "by_identity", "day_of", "uncontested"]

HOUR_NS: Final = 3_600 * 10**9
DAY_NS: Final = 24 * HOUR_NS
PARTS: Final = frozenset({HardwareKind.GPU, HardwareKind.GPU_BOARD, HardwareKind.NIC})
"""What a machine keeps when it is given another name, and loses one by one when it is repaired."""
# Between two nodes to and fro so often, each time within so short a while: two files of one name.
TO_AND_FRO: Final = 5
WITHIN_NS: Final = 2 * DAY_NS


class PlacedStay(NamedTuple):
    """A part in the node at a place of the record, from the first to the last sighting."""

    node: int
    kind: HardwareKind
    identity: str
    slot: str
    first_ns: int
    last_ns: int

    @property
    def part(self) -> PartIdentity:
        """The part itself."""
        return PartIdentity(self.kind, self.identity, self.slot)


class Contested(NamedTuple):
    """A part that these nodes claim at the same time."""

    part: PartIdentity
    nodes: tuple[int, ...]


def by_identity(stays: Iterable[PlacedStay]) -> list[list[PlacedStay]]:
    """The stays of each part, by their beginning."""
    found: dict[tuple[HardwareKind, str], list[PlacedStay]] = {}
    for stay in sorted(stays, key=lambda one: (one.first_ns, one.last_ns, one.node)):
        found.setdefault((stay.kind, stay.identity), []).append(stay)
    return list(found.values())


def uncontested(stays: Iterable[PlacedStay]) -> tuple[list[PlacedStay], list[Contested]]:
    """Stays of parts that are in one node at a time, and the parts that are not."""
    kept: list[PlacedStay] = []
    contested: list[Contested] = []
    for mine in by_identity(stays):
        nodes = sorted({stay.node for stay in mine})
        if len(nodes) > 1 and (at_once(mine) or to_and_fro(mine)):
            contested.append(Contested(mine[0].part, tuple(nodes)))
        else:
            kept += mine
    return kept, contested


def at_once(stays: Sequence[PlacedStay]) -> bool:
    """Whether two nodes have the part at the same time, beyond what clocks differ by."""
    reached: dict[int, PlacedStay] = {}
    for stay in stays:
        for node, before in reached.items():
            if node == stay.node:
                continue
            overlap = min(before.last_ns, stay.last_ns) - stay.first_ns
            apart = max(stay.first_ns - before.first_ns, stay.last_ns - before.last_ns)
            if overlap > HOUR_NS or (overlap >= -HOUR_NS and apart <= HOUR_NS):
                return True
        latest = reached.get(stay.node)
        if latest is None or stay.last_ns > latest.last_ns:
            reached[stay.node] = stay
    return False


def to_and_fro(stays: Sequence[PlacedStay]) -> bool:
    """Whether it changes between nodes faster than people move parts."""
    quick = [
        later.first_ns - earlier.last_ns <= WITHIN_NS
        for earlier, later in pairwise(stays)
        if later.node != earlier.node
    ]
    return len(quick) >= TO_AND_FRO - 1 and sum(quick) * 2 > len(quick)


def day_of(at_ns: int) -> str:
    """The day of a time, in UTC: ``2026-03-04``."""
    return str(np.datetime64(at_ns, "ns").astype("datetime64[D]"))
