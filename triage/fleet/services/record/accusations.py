"""The suspects of each interruption; a person's resolution stands above the ranking."""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.facts.part import named_by
from triage.domain.category import OF_THE_NODE, Category, Role
from triage.fleet.record.columns import Accusation, Accusations
from triage.fleet.services.record.nodes import Nodes
from triage.fleet.services.record.stops import Stop
from triage.fleet.store.record import StopRow, SuspectRow

_CATEGORIES: Final = frozenset(str(one) for one in Category)


def accusations_of(
    stops: Sequence[Stop],
    rows: Sequence[StopRow],
    suspects: Sequence[SuspectRow],
    nodes: Nodes,
) -> Accusations:
    """The accusations of these stops, in their order.

    Where a person has said which node it was, that node alone is accused, with a score of 1,
    even if the ranking had not named it.
    """
    incidents = {row.incident_id: row for row in rows}
    of_incident: dict[str, list[SuspectRow]] = {}
    for row in suspects:
        of_incident.setdefault(row.incident_id, []).append(row)
    found: list[Accusation] = []
    for place, stop in enumerate(stops):
        if stop.incident_id is not None and not stop.planned:
            incident = incidents[stop.incident_id]
            mine = of_incident.get(stop.incident_id, [])
            found += _accused_in(place, incident, mine, nodes)
    return Accusations.of_rows(found)


def _accused_in(
    place: int, incident: StopRow, suspects: Sequence[SuspectRow], nodes: Nodes
) -> Iterator[Accusation]:
    named = incident.resolved_node
    if named is not None and incident.resolved_as in OF_THE_NODE:
        node = nodes.place_of(incident.cluster, named)
        part = next((_part_of(row) for row in suspects if row.node == named), None)
        if node is not None:
            category = Category(str(incident.resolved_as))
            yield Accusation(place, node, 1, 1.0, True, category, part)
        return
    for row in suspects:
        node = nodes.place_of(incident.cluster, row.node)
        if node is not None and row.category in _CATEGORIES:
            convicted, category = row.role == Role.CULPRIT, Category(row.category)
            yield Accusation(
                place, node, row.position, row.score, convicted, category, _part_of(row)
            )


def _part_of(row: SuspectRow) -> str | None:
    return named_by(row.row or {}).first if row.part is None else row.part or None
