"""Which node is which: a machine under another name is the same one, another under its name is not.

A node's record falls into eras, in each of which it is one machine: as its chassis says or, where
no chassis is known, as the parts in its slots do. Eras of one chassis are one machine, whatever
names it had; so are two of which most GPUs and adapters are the same, unless their chassis say
otherwise. Parts that are replaced one by one change nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from triage.domain.counts import count
from triage.domain.hardware import HardwareKind
from triage.fleet.record.hardware.part_stays import (
    HOUR_NS,
    PARTS,
    Contested,
    PlacedStay,
    by_identity,
    day_of,
    uncontested,
)

__all__ = ["Machine", "SameNodes", "same_nodes"]

LEAST_PARTS: Final = 2
BEGINNING: Final = -(1 << 62)
SHOWN: Final = 5

Part = tuple[HardwareKind, str]


class Machine(NamedTuple):
    """A machine by the node that it is now; ``until_ns`` where that name is another one's since."""

    node: int
    until_ns: int | None = None


@dataclass(slots=True, eq=False)
class Era:
    """One machine under one name; ``chassis`` is empty where none is known."""

    node: int
    first_ns: int
    last_ns: int
    chassis: set[str] = field(default_factory=set)
    parts: set[Part] = field(default_factory=set)
    after: "Era | None" = None
    """The era of the same machine that follows."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class SameNodes:
    """``machines`` says of a node, by its place, from when on it was which machine.

    Only nodes that were renamed or replaced are in it; each list begins with the beginning.
    ``stays`` are those of identities that one node has at a time, ``notes`` sentences.
    """

    machines: Mapping[int, tuple[tuple[int, Machine], ...]] = field(default_factory=dict)
    left: frozenset[int] = frozenset()
    """Nodes whose machine has another name now, and no other machine is known to have theirs."""
    stays: tuple[PlacedStay, ...] = ()
    notes: tuple[str, ...] = ()

    def machine_at(self, node: int, at_ns: int) -> Machine:
        """Which machine a node was at a time."""
        found = Machine(node)
        for since_ns, machine in self.machines.get(node, ()):
            if since_ns <= at_ns:
                found = machine
        return found


def same_nodes(stays: Iterable[PlacedStay], names: Sequence[str]) -> SameNodes:
    """What these stays say of nodes, which are places in ``names``."""
    kept, contested = uncontested(stays)
    eras: dict[int, list[Era]] = {}
    of_node: dict[int, list[PlacedStay]] = {}
    for stay in kept:
        of_node.setdefault(stay.node, []).append(stay)
    for node, mine in sorted(of_node.items()):
        found = eras_of(node, mine)
        if found:
            eras[node] = found
    link_by_chassis(eras)
    link_by_parts(eras, kept)
    machines = {}
    for node, periods in eras.items():
        since = list(changes_of(node, periods, eras))
        if any(machine != Machine(node) for _, machine in since):
            machines[node] = tuple(since)
    left = {node for node, mine in eras.items() if leaves(mine[-1])}
    notes = (*words_of(eras, names), *contested_words(contested, names))
    return SameNodes(machines, frozenset(left), tuple(kept), notes)


def eras_of(node: int, stays: Sequence[PlacedStay]) -> list[Era]:
    """The eras of one node, in their order."""
    ordered = sorted(stays, key=lambda one: (one.first_ns, one.last_ns))
    boards = [stay for stay in ordered if stay.kind is HardwareKind.CHASSIS]
    parts = [stay for stay in ordered if stay.kind in PARTS]
    found = list(by_chassis(node, boards)) if boards else list(by_slots(node, parts))
    for stay in parts:
        era_of(found, stay).parts.add((stay.kind, stay.identity))
    return found


def by_chassis(node: int, stays: Sequence[PlacedStay]) -> Iterator[Era]:
    """A new era begins where another chassis is seen, and no earlier one any more."""
    era = Era(node, stays[0].first_ns, stays[0].last_ns)
    for stay in stays:
        if era.chassis and stay.identity not in era.chassis and stay.first_ns > era.last_ns:
            yield era
            era = Era(node, stay.first_ns, stay.last_ns)
        era.chassis.add(stay.identity)
        era.last_ns = max(era.last_ns, stay.last_ns)
    yield era


def by_slots(node: int, stays: Sequence[PlacedStay]) -> Iterator[Era]:
    """A new era begins where all slots that were looked at hold other parts, at least two."""
    if not stays:
        return
    groups: list[list[PlacedStay]] = []
    for stay in stays:
        if groups and stay.first_ns <= groups[-1][0].first_ns + HOUR_NS:
            groups[-1].append(stay)
        else:
            groups.append([stay])
    era = Era(node, stays[0].first_ns, stays[0].last_ns)
    slots: dict[tuple[HardwareKind, str], str] = {}
    for group in groups:
        now = {(one.kind, one.slot): one.identity for one in group if one.slot}
        common = now.keys() & slots.keys()
        others = all(now[slot] != slots[slot] for slot in common)
        ended = group[0].first_ns > era.last_ns
        if ended and others and len(common) >= LEAST_PARTS:
            yield era
            era, slots = Era(node, group[0].first_ns, group[0].last_ns), {}
        slots |= now
        era.last_ns = max(era.last_ns, *(one.last_ns for one in group))
    yield era


def link_by_chassis(eras: Mapping[int, Sequence[Era]]) -> None:
    of_chassis: dict[str, list[Era]] = {}
    for mine in eras.values():
        for era in mine:
            for identity in era.chassis:
                of_chassis.setdefault(identity, []).append(era)
    for identity in sorted(of_chassis):
        for earlier, later in pairwise(sorted(of_chassis[identity], key=lambda one: one.first_ns)):
            if earlier.after is None:
                earlier.after, earlier.why = later, "same chassis serial"


def link_by_parts(eras: Mapping[int, Sequence[Era]], stays: Iterable[PlacedStay]) -> None:
    """Two eras of which most parts are the same, where no two chassis say otherwise."""
    moved: Counter[tuple[int, int]] = Counter()
    of_key: dict[int, Era] = {}
    for mine in by_identity(stay for stay in stays if stay.kind in PARTS):
        for earlier, later in pairwise(mine):
            one, other = era_of(eras[earlier.node], earlier), era_of(eras[later.node], later)
            if one is not other:
                of_key |= {id(one): one, id(other): other}
                moved[id(one), id(other)] += 1
    entered = {id(era.after) for mine in eras.values() for era in mine if era.after is not None}
    for (left, right), num in sorted(moved.items(), key=lambda item: -item[1]):
        one, other = of_key[left], of_key[right]
        most = num >= LEAST_PARTS and num * 2 > max(len(one.parts), len(other.parts))
        free = one.after is None and id(other) not in entered
        if most and free and not (one.chassis and other.chassis) and one.first_ns < other.first_ns:
            one.after, one.why = other, f"{num} of its {len(one.parts)} GPUs and adapters"
            entered.add(id(other))


def era_of(mine: Sequence[Era], stay: PlacedStay) -> Era:
    """The era of its node that a stay lies in; the first one where it was before all of them."""
    return next((one for one in reversed(mine) if one.first_ns <= stay.last_ns), mine[0])


def changes_of(
    node: int, mine: Sequence[Era], eras: Mapping[int, Sequence[Era]]
) -> Iterator[tuple[int, Machine]]:
    """(from when, machine) of one node; behind a machine that left, the name is its own again."""
    since = BEGINNING
    for place, era in enumerate(mine):
        yield since, machine_of(era, eras)
        until = mine[place + 1].first_ns if place + 1 < len(mine) else None
        if era.after is not None and leaves(era):
            moved_ns = era.after.first_ns
            if until is None or moved_ns < until:
                yield moved_ns, Machine(node, until)
        since = until or since


def leaves(era: Era) -> bool:
    """Whether the machine of an era has another name behind it."""
    return era.after is not None and era.after.node != era.node


def machine_of(era: Era, eras: Mapping[int, Sequence[Era]]) -> Machine:
    """The machine by its last name."""
    seen = {id(era)}
    while era.after is not None and id(era.after) not in seen:
        era = era.after
        seen.add(id(era))
    mine = eras[era.node]
    behind = mine[mine.index(era) + 1 :]
    return Machine(era.node, behind[0].first_ns if behind else None)


def words_of(eras: Mapping[int, Sequence[Era]], names: Sequence[str]) -> Iterator[str]:
    for node, mine in eras.items():
        for place, era in enumerate(mine):
            other = era.after
            if other is not None and other.node != node:
                since = day_of(other.first_ns)
                yield f"{names[node]} is called {names[other.node]} since {since} ({era.why})"
            if place and not any(one.after is era for one in mine[:place]):
                what = "chassis serial" if era.chassis else "parts in all slots"
                yield (
                    f"{names[node]} is another machine since {day_of(era.first_ns)} (another"
                    f" {what}): what happened before does not count against it"
                )


def contested_words(contested: Sequence[Contested], names: Sequence[str]) -> Iterator[str]:
    pairs = [one for one in contested if len(one.nodes) == LEAST_PARTS]
    for part, nodes in pairs[:SHOWN]:
        both = " and ".join(names[node] for node in nodes)
        yield f"{both} both claim {part.words} at the same time: it counts for neither"
    if len(pairs) > SHOWN:
        yield f"and {len(pairs) - SHOWN} more parts that two nodes claim at the same time"
    many = len(contested) - len(pairs)
    if many:
        yield (f"{count(many, 'serial number')} that more than two nodes claim: no identity")
