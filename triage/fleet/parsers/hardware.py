"""What an inventory says of nodes, and of their parts: GPU, board, adapter, chassis.

::

    node,generation,rack,leaf_switch,cluster
    gpu001,H100,r12,leaf03,a

``node`` is a host list, so that a rack can be one row; of the others one is enough. The last
inventory stands, for nodes move: what an earlier one said and this one leaves empty stays.

::

    node,kind,identity,slot,seen_at
    n12,gpu,GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14,0000:5d:00,2026-03-04T10:00:00Z

A placeholder (``N/A``, ``Not Specified``) is no part. ``seen_at`` is when it was there, or
``from`` and ``to``; without any it is there now.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.domain.hardware import MAX_IDENTITY, HardwareKind, make_part_identity
from triage.fleet.domain.exposure import FACTS, NodeFacts, PartSeen
from triage.fleet.parsers.rows import (
    Columns,
    Options,
    Row,
    RowError,
    cluster_in,
    name_in,
    normalize_column_name,
    parse_both_times,
    parse_host_list,
    shorten_foreign_text,
)
from triage.signatures.pci import normalize_bus_id

_IDENTITIES: Final = ("uuid", "serial", "guid", "identity")


class InventoryReader:
    """Claims a table that has ``node`` and one of the facts."""

    name = "inventory"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.node, self.cluster = columns.first("node") or 0, columns.first("cluster")
        self.facts = [columns.first(name) for name in FACTS]

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header; a column of identities is of no inventory."""
        told = not any(name.endswith(_IDENTITIES) for name in columns.place)
        return told and "node" in columns and columns.first(*FACTS) is not None

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The nodes of a row. Raises :class:`RowError`."""
        nodes = parse_host_list(fields[self.node])
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


_KINDS: Final = {
    "gpu": HardwareKind.GPU, "gpuboard": HardwareKind.GPU_BOARD, "board": HardwareKind.BOARD,
    "nic": HardwareKind.NIC, "hca": HardwareKind.NIC, "chassis": HardwareKind.CHASSIS,
    "gpuserial": HardwareKind.GPU_BOARD,
}  # fmt: skip
_SEEN: Final = ("seen_at", "at", "time", "timestamp", "date")
_FROM: Final = ("from", "first_at", "installed_at", "since")
_TO: Final = ("to", "last_at", "removed_at", "until")


class HardwareReader:
    """Claims a table that has a node, a kind of part and an identity."""

    name = "hardware"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.node, self.kind = columns.first("node") or 0, columns.first("kind") or 0
        self.identity = columns.first("identity") or 0
        self.cluster, self.slot = columns.first("cluster"), columns.first("slot", "bus_id", "index")
        self.seen, self.from_, self.to = (columns.first(*names) for names in (_SEEN, _FROM, _TO))

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        return columns.has_all(("node", "kind", "identity"))

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The part of a row; none for a placeholder. Raises :class:`RowError`."""

        def text(place: int | None) -> str:
            return "" if place is None else fields[place].strip()

        kind = _KINDS.get(normalize_column_name(fields[self.kind]))
        if kind is None:
            raise RowError(
                f"kind {shorten_foreign_text(fields[self.kind])} is none of {', '.join(_KINDS)}"
            )
        if len(text(self.identity)) > MAX_IDENTITY:
            raise RowError(f"an identity has more than {MAX_IDENTITY} characters")
        node = name_in(fields[self.node], "node")
        cluster = cluster_in(text(self.cluster), self.options)
        times = (text(self.from_), text(self.to))
        if seen := text(self.seen):
            times = (seen, seen)
        first, last = parse_both_times(*times, self.options, "the first time", "the last time")
        slot = text(self.slot)
        part = make_part_identity(kind, text(self.identity), normalize_bus_id(slot) or slot)
        if part is not None:
            yield PartSeen(node, part, first, last, cluster)
