"""The parts of a record's nodes that were in other nodes too."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from triage.domain.hardware import HardwareKind
from triage.fleet.record.hardware.moved_parts import PARTS, MovedPart, PlacedStay, moved_parts
from triage.fleet.services.record.nodes import Nodes
from triage.fleet.services.record.times import ns
from triage.fleet.store import hardware

__all__ = ["moved_among"]


def moved_among(
    session: Session, clusters: Sequence[int], until: datetime, nodes: Nodes
) -> tuple[MovedPart, ...]:
    """Those that were seen in several nodes of these clusters before ``until``."""
    keys = hardware.nodes_of_moved_parts(session, clusters)
    return moved_parts(placed(hardware.stays_of(session, keys, until), nodes))


def placed(rows: Sequence[hardware.PartRow], nodes: Nodes) -> Iterator[PlacedStay]:
    for row in rows:
        place = int(nodes.place[row.node]) if row.node < len(nodes.place) else -1
        if place >= 0 and row.kind in PARTS:
            times = ns(row.first_at), ns(row.last_at)
            yield PlacedStay(place, HardwareKind(row.kind), row.identity, row.slot, *times)
