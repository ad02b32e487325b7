"""What an inventory says of nodes: generation, rack, leaf switch, batch, cage, slot, role.

::

    node,generation,rack,leaf_switch,cluster
    gpu001,H100,r12,leaf03,a

    node,batch,cage,slot,role
    login1,2025-03,top,7,login

``node`` is a host list, so that a rack can be one row; of the others one is enough. The last
inventory stands, for nodes move: what an earlier one said and this one leaves empty stays.
"""

from collections.abc import Iterator, Sequence

from triage.fleet.domain.exposure import FACTS, NodeFacts
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import Options, Row, RowError, cluster_in, hosts_in, name_in


class InventoryReader:
    """Claims a table that has ``node`` and one of the facts."""

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
        facts = {
            name: name_in(fields[place], name)
            for place, name in zip(self.facts, FACTS, strict=True)
            if place is not None and fields[place].strip()
        }
        cluster = cluster_in("" if self.cluster is None else fields[self.cluster], self.options)
        for node in nodes:
            yield NodeFacts(node, cluster=cluster, **facts)
