"""The nodes of a record by the machine that they are: renamed ones go on, replaced ones begin.

What the hardware in nodes says is asked for when parts were seen elsewhere since the last time;
in a fleet in which nothing moves it costs a look at an index.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from triage.domain.hardware import HardwareKind
from triage.fleet.record.hardware.moved_parts import MovedPart, moved_parts
from triage.fleet.record.hardware.part_stays import PlacedStay, day_of
from triage.fleet.record.hardware.same_node import Machine, SameNodes, same_nodes
from triage.fleet.services.record.nodes import NodeRow, Nodes
from triage.fleet.services.record.times import ns
from triage.fleet.store import hardware
from triage.fleet.store.hardware import PartRow, Size

__all__ = ["MachineNodes", "Named", "machines_of"]

MOST_KEPT: Final = 32
KINDS: Final = frozenset(HardwareKind)

Times = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int32]
# A node by its cluster and its name, at a time in ns.
Named = tuple[int | None, str, int]


@dataclass(frozen=True, slots=True)
class MachineNodes:
    """The nodes as machines, the parts that moved among them, and what is to be said of both.

    ``gone`` are the machines whose name another one has now.
    """

    nodes: Nodes
    moved: tuple[MovedPart, ...] = ()
    notes: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()


class TellingNodes:
    """Of each database the nodes whose hardware tells something; safe among threads."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.kept: WeakKeyDictionary[Engine, dict[tuple[int, ...], tuple[Size, list[int]]]] = (
            WeakKeyDictionary()
        )

    def of(self, session: Session, clusters: Sequence[int]) -> list[int]:
        """Those of these clusters, as of the newest row."""
        size = hardware.size_of(session)
        if not size.rows:
            return []
        engine, key = session.get_bind().engine, tuple(clusters)
        with self.turn:
            before = self.kept.get(engine, {}).get(key)
        if before is not None and before[0] == size:
            return before[1]
        found = hardware.telling_nodes(session, clusters)
        with self.turn:
            mine = self.kept.setdefault(engine, {})
            if len(mine) >= MOST_KEPT:
                mine.clear()
            mine[key] = (size, found)
        return found


_telling = TellingNodes()


def machines_of(
    session: Session,
    clusters: Sequence[int],
    until: datetime,
    nodes: Nodes,
    rows: Callable[[], Iterable[tuple[Keys, Times]]],
    named: Callable[[], Iterable[Named]] = tuple,
) -> MachineNodes:
    """The nodes of a record, renamed and replaced ones by their machines.

    ``rows`` gives keys of nodes with times, ``named`` names with times: a name that no machine is
    known to have any more stays only where one of these needs it.
    """
    telling = _telling.of(session, clusters)
    if not telling:
        return MachineNodes(nodes)
    same = same_nodes(stays_among(hardware.stays_of(session, telling, until), nodes), nodes.names)
    used = machines_in_use(same, nodes, rows, named)
    after, index = with_machines(nodes, same, used)
    placed = [
        stay._replace(node=place)
        for stay in same.stays
        if (place := index.get(same.machine_at(stay.node, stay.first_ns))) is not None
    ]
    gone = frozenset(
        after.names[place] for machine, place in index.items() if machine.until_ns is not None
    )
    return MachineNodes(after, moved_parts(placed), same.notes, gone)


def stays_among(rows: Iterable[PartRow], nodes: Nodes) -> Iterator[PlacedStay]:
    """The stays of nodes that the record has, by their places."""
    for row in rows:
        place = int(nodes.place[row.node]) if row.node < len(nodes.place) else -1
        if place >= 0 and row.kind in KINDS:
            times = ns(row.first_at), ns(row.last_at)
            yield PlacedStay(place, HardwareKind(row.kind), row.identity, row.slot, *times)


def machines_in_use(
    same: SameNodes,
    nodes: Nodes,
    rows: Callable[[], Iterable[tuple[Keys, Times]]],
    named: Callable[[], Iterable[Named]],
) -> set[Machine]:
    """The machines that rows are about, as far as they are none of their name alone."""
    used: set[Machine] = set()
    if not same.machines:
        return used
    flags = np.zeros(len(nodes.names) + 1, np.bool_)
    flags[list(same.machines)] = True
    for keys, at_ns in rows():
        places = nodes.place[keys]
        for where in np.flatnonzero(flags[places]).tolist():
            used.add(same.machine_at(int(places[where]), int(at_ns[where])))
    for cluster, name, stopped_ns in named():
        place = nodes.place_of(cluster, name)
        if place is not None and place in same.machines:
            used.add(same.machine_at(place, stopped_ns))
    return used


def with_machines(
    nodes: Nodes, same: SameNodes, used: set[Machine]
) -> tuple[Nodes, dict[Machine, int]]:
    """The nodes with a place for each machine, and which that is."""
    machines = {Machine(place) for place in range(len(nodes.names)) if place not in same.left}
    labels = {machine: label_of(machine, nodes) for machine in machines | used}
    order = sorted(labels, key=lambda machine: labels[machine])
    index = {machine: place for place, machine in enumerate(order)}
    if not same.machines:
        return nodes, index
    changes = {
        node: tuple((since, index[one]) for since, one in machines if one in index)
        for node, machines in same.machines.items()
    }
    now = np.full(len(nodes.names) + 1, -1, np.int32)
    for node in range(len(nodes.names)):
        now[node] = changes[node][-1][1] if changes.get(node) else index[Machine(node)]
    of_key = {
        key: changes[place] for key, place in enumerate(nodes.place.tolist()) if place in changes
    }
    of_name = {one: changes[place] for one, place in nodes.by_name.items() if place in changes}
    rows = {machine: nodes.rows[machine.node] for machine in order}
    for node, since in same.machines.items():
        first = since[0][1]
        if first.node != node and first in rows:
            rows[first] = with_facts(rows[first], nodes.rows[node])
    return (
        replace(
            nodes,
            names=tuple(labels[machine] for machine in order),
            rows=tuple(rows[machine] for machine in order),
            place=now[nodes.place],
            by_name={one: int(now[place]) for one, place in nodes.by_name.items()},
            changes=of_key,
            changes_of_name=of_name,
        ),
        index,
    )


def label_of(machine: Machine, nodes: Nodes) -> str:
    name = nodes.names[machine.node]
    return name if machine.until_ns is None else f"{name} (until {day_of(machine.until_ns)})"


def with_facts(row: NodeRow, before: NodeRow) -> NodeRow:
    """What a machine keeps when it is moved or renamed: the delivery that it came with."""
    return row._replace(
        generation=row.generation or before.generation, batch=row.batch or before.batch
    )
