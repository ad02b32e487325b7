"""Which parts a row of evidence names, with the identity that their maker gave them."""

import re
from collections.abc import Iterator
from typing import Final

from triage.domain.evidence import Evidence, Kind
from triage.domain.hardware import HardwareKind, PartIdentity, part_identity

__all__ = ["parts_named"]

# Rows that a node's own tools and kernel print; others only quote.
KINDS: Final = frozenset({Kind.IDENTITY, Kind.BOOT})
OF_A_CHECK: Final = "check"
# "3, GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14, 1655023014412, 00000000:5D:00.0"
SERIAL_BESIDE: Final = re.compile(r"GPU-[0-9a-f-]{36}, ?(\d{10,14})(?=,|\s*$)", re.IGNORECASE)
FIELDS: Final = (
    ("system_serial", HardwareKind.CHASSIS),
    ("chassis_serial", HardwareKind.CHASSIS),
    ("board_serial", HardwareKind.BOARD),
    ("nic_guid", HardwareKind.NIC),
    ("gpu_uuid", HardwareKind.GPU),
    ("amd_uuid", HardwareKind.GPU),
    ("gpu_serial", HardwareKind.GPU_BOARD),
)
# The driver's banner: the UUID behind an address, then the serial number of the board.
OF_THE_DRIVER: Final = {
    "nvidia.gpu_banner": ("uuid", HardwareKind.GPU),
    "nvidia.board_serial": ("serial", HardwareKind.GPU_BOARD),
}


def parts_named(row: Evidence) -> tuple[PartIdentity, ...]:
    """The parts that a row names of its own node; none where it only quotes, or names none."""
    if row.kind in KINDS or row.family == OF_A_CHECK:
        return tuple(named(row))
    return ()


def named(row: Evidence) -> Iterator[PartIdentity]:
    told = [(name, kind) for name, kind in FIELDS if name in row.fields]
    told += [OF_THE_DRIVER[row.signature]] if row.signature in OF_THE_DRIVER else []
    for name, kind in told:
        part = part_identity(kind, row.fields.get(name) or "", slot_of(row, kind))
        if part is not None:
            yield part
    beside = SERIAL_BESIDE.search(row.text) if "gpu_uuid" in row.fields else None
    if beside is not None and "gpu_serial" not in row.fields:
        part = part_identity(HardwareKind.GPU_BOARD, beside[1], slot_of(row, HardwareKind.GPU))
        if part is not None:
            yield part


def slot_of(row: Evidence, kind: HardwareKind) -> str:
    if kind is HardwareKind.NIC:
        return row.fields.get("adapter") or row.fields.get("hca") or ""
    if kind in (HardwareKind.GPU, HardwareKind.GPU_BOARD):
        return row.gpu or row.fields.get("gpu_index") or ""
    return ""
