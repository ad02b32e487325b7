"""Places of nodes, as numbers: racks or leaf switches that groups stay within or span."""

from dataclasses import dataclass

from triage.domain.arrays import I64
from triage.fleet.isolation.options import PlaceRule

__all__ = ["Places"]


@dataclass(frozen=True, slots=True)
class Places:
    """``of_node`` has the number of the place of each node, -1 where it is not known."""

    rule: PlaceRule
    of_node: I64
