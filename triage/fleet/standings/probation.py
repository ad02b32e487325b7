"""Probation beside the grades: who came back from a repair lately, among the standings."""

from collections.abc import Iterable
from dataclasses import replace

from triage.domain.probation import Probation
from triage.domain.standing import FleetStandings


def with_probation(found: FleetStandings, probations: Iterable[Probation]) -> FleetStandings:
    """The same standings, in the same order, with the probation of each node."""
    by_node = {one.node: one for one in probations}
    if not by_node:
        return found
    nodes = (replace(row, probation=by_node.get(row.node)) for row in found.nodes)
    return replace(found, nodes=tuple(nodes))
