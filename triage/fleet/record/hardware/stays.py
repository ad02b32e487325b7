"""Stays of a part in nodes: from the first to the last time that something named it there.

A part that was seen in another node in between begins a new stay. The ends of a stay are times at
which it was seen; what lies between them is only believed. Clocks of nodes may differ by an hour.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

__all__ = ["CLOCKS_APART", "MOST_STAYS", "Sighting", "Stay", "stays_with"]

CLOCKS_APART: Final = timedelta(hours=1)
# Of one part in one cluster; a part that moves more often is none.
MOST_STAYS: Final = 32
BUS: Final = ":"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A node, by its key, names a part at a time, or from one time to another."""

    node: int
    slot: str
    first_at: datetime
    last_at: datetime
    source: str
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Stay:
    """A part in a node; ``row`` is its stored row, None for a new one."""

    node: int
    slot: str
    first_at: datetime
    last_at: datetime
    source: str
    key_id: str | None = None
    row: int | None = None


def stays_with(stays: Iterable[Stay], sightings: Iterable[Sighting]) -> list[Stay]:
    """The stays of one part with what was seen, by their beginning.

    The order of sightings does not matter. Beyond :data:`MOST_STAYS` a sighting that would
    begin another one is left out.
    """
    found = list(stays)
    for seen in sorted(sightings, key=lambda one: (one.first_at, one.last_at, one.node)):
        add(found, seen)
    return sorted(found, key=lambda one: (one.first_at, one.node))


def add(found: list[Stay], seen: Sighting) -> None:
    """One sighting: it lengthens stays of its node, or begins one, and parts those of others."""
    mine = [one for one in found if one.node == seen.node]
    others = [one for one in found if one.node != seen.node]
    joined = [one for one in mine if not parted(one, seen, others)]
    if not joined and len(found) >= MOST_STAYS:
        return
    stay = Stay(seen.node, seen.slot, seen.first_at, seen.last_at, seen.source, seen.key_id)
    for one in joined:
        found.remove(one)
        stay = both(one, stay)
    found.append(stay)
    for other in others:
        if len(found) < MOST_STAYS:
            part_at(found, other, seen)


def parted(stay: Stay, seen: Sighting, others: Sequence[Stay]) -> bool:
    """Whether the part was seen elsewhere between a stay and a sighting."""
    after = min(stay.last_at, seen.last_at) + CLOCKS_APART
    before = max(stay.first_at, seen.first_at) - CLOCKS_APART
    return any(after < at < before for one in others for at in (one.first_at, one.last_at))


def part_at(found: list[Stay], stay: Stay, seen: Sighting) -> None:
    """A stay that spans a sighting elsewhere is two: its ends were seen, its middle was not."""
    at = [
        one
        for one in (seen.first_at, seen.last_at)
        if stay.first_at + CLOCKS_APART < one < stay.last_at - CLOCKS_APART
    ]
    if not at:
        return
    found.remove(stay)
    found.append(replace(stay, last_at=stay.first_at))
    found.append(replace(stay, first_at=stay.last_at, row=None))


def both(one: Stay, other: Stay) -> Stay:
    """Two stays as one: the row and the token of the one that is stored, or was first."""
    kept, more = (
        (one, other)
        if (one.row is None, one.first_at) <= (other.row is None, other.first_at)
        else (other, one)
    )
    return replace(
        kept,
        slot=better(kept.slot, more.slot),
        first_at=min(one.first_at, other.first_at),
        last_at=max(one.last_at, other.last_at),
    )


def better(one: str, other: str) -> str:
    """The slot that says more: an address of the bus before a number, a number before nothing."""
    return max(one, other, key=lambda slot: (BUS in slot, bool(slot))) if one != other else one
