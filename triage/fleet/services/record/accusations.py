"""Who stood as a suspect in which interruption; a person's word stands above the ranking."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from triage.analysis.facts.part import named_by
from triage.domain.category import OF_THE_NODE, Category, Role
from triage.fleet.record.columns import Accusations
from triage.fleet.services.record.nodes import Nodes
from triage.fleet.services.record.stops import Stop
from triage.fleet.store.record import StopRow, SuspectRow

__all__ = ["accusations_of"]


CATEGORIES: Final = frozenset(str(one) for one in Category)


class Accused(NamedTuple):
    """One accusation, before it is a row of columns."""

    interruption: int
    node: int
    position: int
    score: float
    convicted: bool
    category: Category
    part: str | None


def accusations_of(
    stops: Sequence[Stop],
    told: Sequence[StopRow],
    suspects: Sequence[SuspectRow],
    nodes: Nodes,
) -> Accusations:
    """The accusations of these stops, in their order.

    Where a person has said which node it was, that node alone is accused, with a score of 1,
    even if the ranking had not named it.
    """
    incidents = {row.incident_id: row for row in told}
    of_incident: dict[str, list[SuspectRow]] = {}
    for row in suspects:
        of_incident.setdefault(row.incident_id, []).append(row)
    found: list[Accused] = []
    for place, stop in enumerate(stops):
        if stop.incident_id is not None and not stop.planned:
            incident = incidents[stop.incident_id]
            found += accused_in(place, incident, of_incident.get(stop.incident_id, []), nodes)
    return Accusations(
        interruption=np.array([one.interruption for one in found], np.int32),
        node=np.array([one.node for one in found], np.int32),
        position=np.array([one.position for one in found], np.int32),
        score=np.array([one.score for one in found], np.float64),
        convicted=np.array([one.convicted for one in found], np.bool_),
        category=tuple(one.category for one in found),
        part=tuple(one.part for one in found),
    )


def accused_in(
    place: int, incident: StopRow, suspects: Sequence[SuspectRow], nodes: Nodes
) -> Iterator[Accused]:
    named = incident.resolved_node
    if named is not None and incident.resolved_as in OF_THE_NODE:
        node = nodes.place_of(incident.cluster, named)
        part = next((part_of(row) for row in suspects if row.node == named), None)
        if node is not None:
            category = Category(str(incident.resolved_as))
            yield Accused(place, node, 1, 1.0, True, category, part)
        return
    for row in suspects:
        node = nodes.place_of(incident.cluster, row.node)
        if node is not None and row.category in CATEGORIES:
            yield Accused(
                place, node, row.position, row.score, row.role == Role.CULPRIT,
                Category(row.category), part_of(row),
            )  # fmt: skip


def part_of(row: SuspectRow) -> str | None:
    return named_by(row.row or {}).first if row.part is None else row.part or None
