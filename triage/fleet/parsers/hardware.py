"""What an inventory says of nodes, and of their parts: GPU, board, adapter, chassis.

::

    node,generation,rack,leaf_switch,cluster
    gpu001,H100,r12,leaf03,a

``node`` is a host list, so that a rack can be one row; of the others one is enough. The last
inventory stands, for nodes move: what an earlier one said and this one leaves empty stays.

::

    node,kind,identity,slot,seen_at
    n12,gpu,GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14,0000:5d:00,2026-03-04T10:00:00Z

    node,slot,gpu_serial,gpu_uuid
    n12,0,1655023014410,GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14

    node,rack,chassis_serial,gpu0_uuid,gpu1_uuid,mlx5_0_guid
    n12,r7,J3009X4K,GPU-8a1f0c52-...,GPU-1c5d7e9a-...,b8cef60300aabbcc

A placeholder (``N/A``, ``Not Specified``) is no part. ``seen_at`` is when it was there, or
``from`` and ``to``; without any it is there now. The facts of an inventory may stand beside.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from triage.domain.hardware import MAX_IDENTITY, HardwareKind, PartIdentity, part_identity
from triage.fleet.domain.exposure import FACTS, NodeFacts, PartSeen
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import (
    Options,
    Row,
    RowError,
    both_times,
    cluster_in,
    hosts_in,
    name_in,
    short,
)
from triage.signatures.pci import bus_id


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


# As columns are compared: without case, blanks and underscores.
_NAMED: Final = {
    "gpuuuid": HardwareKind.GPU, "uuid": HardwareKind.GPU,
    "gpuserial": HardwareKind.GPU_BOARD, "gpuboardserial": HardwareKind.GPU_BOARD,
    "boardserial": HardwareKind.BOARD, "baseboardserial": HardwareKind.BOARD,
    "chassisserial": HardwareKind.CHASSIS, "systemserial": HardwareKind.CHASSIS,
    "nodeserial": HardwareKind.CHASSIS, "servicetag": HardwareKind.CHASSIS,
    "nicguid": HardwareKind.NIC, "nodeguid": HardwareKind.NIC, "adapterguid": HardwareKind.NIC,
    "nicserial": HardwareKind.NIC, "hcaguid": HardwareKind.NIC,
}  # fmt: skip
# gpu0_uuid, gpu_3_serial, uuid_gpu5, mlx5_0_guid, nic2_guid
_NUMBERED: Final = (
    (re.compile(r"gpu(?P<slot>\d{1,2})(?:uuid)?|uuid(?:gpu)?(?P<after>\d{1,2})"), HardwareKind.GPU),
    (re.compile(r"gpu(?P<slot>\d{1,2})(?:board)?serial"), HardwareKind.GPU_BOARD),
    (
        re.compile(r"(?P<slot>mlx5\d{1,2}|ib\d{1,2}|nic\d{1,2})(?:node)?(?:guid|serial)"),
        HardwareKind.NIC,
    ),
)  # fmt: skip
_ADAPTER: Final = re.compile(r"(mlx5)(\d{1,2})")
_KINDS: Final = {
    "gpu": HardwareKind.GPU, "gpuboard": HardwareKind.GPU_BOARD, "board": HardwareKind.BOARD,
    "baseboard": HardwareKind.BOARD, "nic": HardwareKind.NIC, "hca": HardwareKind.NIC,
    "adapter": HardwareKind.NIC, "chassis": HardwareKind.CHASSIS, "system": HardwareKind.CHASSIS,
    "gpuserial": HardwareKind.GPU_BOARD,
}  # fmt: skip
_SEEN: Final = ("seen_at", "at", "time", "timestamp", "date")
_FROM: Final = ("from", "first_at", "installed_at", "since")
_TO: Final = ("to", "last_at", "removed_at", "until")
_MARKS: Final = re.compile(r"[ _-]+")
# Of one part in the same row: a GPU and the board that it is on.
_OF_A_GPU: Final = frozenset({HardwareKind.GPU, HardwareKind.GPU_BOARD})


@dataclass(frozen=True, slots=True)
class _PartColumn:
    """Where an identity stands; ``slot`` is None where another column says it."""

    place: int
    kind: HardwareKind
    slot: str | None


class HardwareReader:
    """Claims a table of nodes that has a column of identities."""

    name = "hardware"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.node, self.cluster = columns.first("node") or 0, columns.first("cluster")
        self.kind, self.identity = columns.first("kind"), columns.first("identity")
        self.parts = _part_columns(columns)
        self.slot = columns.first("slot", "bus_id", "pci.bus_id", "index")
        self.seen, self.from_, self.to = (columns.first(*names) for names in (_SEEN, _FROM, _TO))
        self.inventory = InventoryReader(columns, options)
        # In a table of parts a slot is the part's; the facts of the node are the others.
        if self.identity is not None or any(
            one.slot is None and one.kind in _OF_A_GPU for one in self.parts
        ):
            self.inventory.facts[FACTS.index("slot")] = None
        else:
            self.slot = None

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        if "node" not in columns or "job_id" in columns:
            return False
        return columns.has_all(("kind", "identity")) or bool(_part_columns(columns))

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The parts of a row, and what else it says of its node. Raises :class:`RowError`."""
        node = name_in(fields[self.node], "node")
        cluster = cluster_in("" if self.cluster is None else fields[self.cluster], self.options)
        first, last = self.times(fields)
        for part in self.parts_in(fields):
            yield PartSeen(node, part, first, last, cluster)
        if any(place is not None and fields[place].strip() for place in self.inventory.facts):
            yield from self.inventory.rows(fields)

    def times(self, fields: Sequence[str]) -> tuple[datetime | None, datetime | None]:
        """From when to when the parts were there. Raises :class:`RowError`."""

        def text(place: int | None) -> str:
            return "" if place is None else fields[place]

        if text(self.seen).strip():
            return both_times(text(self.seen), text(self.seen), self.options, "seen_at", "seen_at")
        return both_times(text(self.from_), text(self.to), self.options, "from", "to")

    def parts_in(self, fields: Sequence[str]) -> Iterator[PartIdentity]:
        """The parts of a row. Raises :class:`RowError`."""
        own = "" if self.slot is None else _slot_in(fields[self.slot])
        told = [(one.kind, fields[one.place], one.slot) for one in self.parts]
        if self.kind is not None and self.identity is not None:
            word = _MARKS.sub("", fields[self.kind].strip().lower())
            if word not in _KINDS:
                raise RowError(f"kind {short(fields[self.kind])} is none of {', '.join(_KINDS)}")
            told.append((_KINDS[word], fields[self.identity], None))
        for kind, text, slot in told:
            if len(text.strip()) > MAX_IDENTITY:
                raise RowError(f"an identity has more than {MAX_IDENTITY} characters")
            part = part_identity(kind, text, own if slot is None else slot)
            if part is not None:
                yield part


def _part_columns(columns: Columns) -> list[_PartColumn]:
    """The columns whose names say that they hold identities."""
    found = []
    for name, place in columns.place.items():
        if name in _NAMED:
            found.append(_PartColumn(place, _NAMED[name], None))
            continue
        for pattern, kind in _NUMBERED:
            match = pattern.fullmatch(name)
            if match is not None:
                slot = next(text for text in match.groups() if text)
                found.append(_PartColumn(place, kind, _ADAPTER.sub(r"\1_\2", slot)))
    return found


def _slot_in(text: str) -> str:
    """A bus address in its one spelling; other words as they are."""
    return bus_id(text) or text.strip()
