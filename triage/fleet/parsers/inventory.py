"""What an inventory says of nodes: generation, rack, leaf switch.

::

    node,generation,rack,leaf_switch,cluster
    gpu001,H100,r12,leaf03,a

``node`` is a host list, so that a rack can be one row; of the others one is enough. The last
inventory stands, for nodes move: what an earlier one said and this one leaves empty stays.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.fleet.domain.exposure import NodeFacts
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import Options, Row, RowError, cluster_in, name_in
from triage.fleet.parsers.run_table import hosts_in

__all__ = ["InventoryReader"]

FACTS: Final = ("generation", "rack", "leaf_switch")


class InventoryReader:
    """Claims a table that has ``node`` and one of generation, rack and leaf switch."""

    name = "inventory"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.node, self.cluster = columns.first("node") or 0, columns.first("cluster")
        self.facts = [columns.first(name) for name in FACTS]

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        return "node" in columns and columns.first(*FACTS) is not None

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The nodes of a row. Raises :class:`RowError`."""
        nodes = hosts_in(fields[self.node])
        if not nodes:
            raise RowError("node is empty")
        generation, rack, leaf_switch = (
            name_in(fields[place], name) if place is not None and fields[place].strip() else None
            for place, name in zip(self.facts, FACTS, strict=True)
        )
        cluster = cluster_in("" if self.cluster is None else fields[self.cluster], self.options)
        for node in nodes:
            yield NodeFacts(node, generation, rack, leaf_switch, cluster)
