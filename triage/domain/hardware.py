"""Which piece of hardware is which: the identity that its maker gave it, whatever node it sits in.

A GPU has a UUID, its board a serial number, an adapter a GUID, a machine the serial number of its
chassis. Firmware that was never told prints a placeholder, which is nobody's identity.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from triage.domain.patterns import compile_re

MAX_IDENTITY: Final = 64
_MAX_SLOT: Final = 64
_LEAST: Final = 4
_GPU: Final = compile_re(r"(?:gpu-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.ASCII)
# "0x5e2c4b000343a588", "5e2c:4b00:0343:a588", "5e2c4b000343a588"
_GUID: Final = compile_re(r"(?:0x)?([0-9a-f]{4}:?[0-9a-f]{4}:?[0-9a-f]{4}:?[0-9a-f]{4})", re.ASCII)
_SERIAL: Final = compile_re(r"[0-9A-Za-z][0-9A-Za-z ._:/+-]*", re.ASCII)
_MARKS: Final = compile_re(r"[^0-9a-z]+")
# What firmware and tools print in the place of a number, without blanks and marks.
_PLACEHOLDERS: Final = frozenset(
    {
        "na", "none", "null", "unknown", "empty", "invalid", "default", "defaultstring", "serial",
        "notspecified", "notavailable", "notapplicable", "notsupported", "notprovided", "notset",
        "tobefilledbyoem", "filledbyoem", "oem", "oemserialnumber", "systemserialnumber",
        "chassisserialnumber", "baseboardserialnumber", "serialnumber", "noserial",
        "noserialnumber", "noasset", "noassetinformation", "noenclosure", "undefined",
        "unspecified", "test", "xxx",
        "unknownerror", "insufficientpermissions",
    }
)  # fmt: skip
_COUNTED: Final = "0123456789012345678901234567890123456789"


class HardwareKind(StrEnum):
    """What has an identity of its own."""

    GPU = "gpu"  # by UUID
    GPU_BOARD = "gpu_board"  # by the serial number that the GPU reads from its board
    BOARD = "board"  # the node's base board, by serial number
    NIC = "nic"  # a network adapter, by node GUID or serial number
    CHASSIS = "chassis"  # the machine, by serial number


@dataclass(frozen=True, slots=True)
class PartIdentity:
    """One part: its kind, its identity in one spelling, and where in its node it sits.

    ``slot`` is a bus address (``0000:5d:00``), the number of a GPU or the name of an adapter
    (``mlx5_5``); empty where nobody says.
    """

    kind: HardwareKind
    identity: str
    slot: str = ""


def make_part_identity(kind: HardwareKind, text: str, slot: str = "") -> PartIdentity | None:
    """The part with this identity; None where the text is a placeholder or none at all."""
    identity = normalize_identity(kind, text)
    if identity is None:
        return None
    place = slot.strip()
    return PartIdentity(kind, identity, place if _SERIAL.fullmatch(place[:_MAX_SLOT]) else "")


def normalize_identity(kind: HardwareKind, text: str) -> str | None:
    """The identity in one spelling; None for a placeholder, and for what no maker prints.

    >>> identity_of(HardwareKind.NIC, "0x5E2C:4B00:0343:A588")
    '5e2c4b000343a588'
    >>> identity_of(HardwareKind.CHASSIS, "To be filled by O.E.M.")
    """
    text = text.strip(" \t./")
    if (
        not text
        or len(text) > MAX_IDENTITY
        or _SERIAL.fullmatch(text) is None
        or _is_placeholder(text)
    ):
        return None
    return _READ.get(kind, _normalize_serial)(text)


def _is_placeholder(text: str) -> bool:
    plain = _MARKS.sub("", text.lower())
    digits = plain.removeprefix("gpu").removeprefix("0x")
    return (
        plain in _PLACEHOLDERS
        or len(set(digits)) < 2
        or digits in _COUNTED
        or digits.lstrip("0") in ("", "1")
    )


def _normalize_serial(text: str) -> str | None:
    return " ".join(text.split()).upper() if len(text) >= _LEAST else None


def _normalize_gpu(text: str) -> str | None:
    found = _GPU.fullmatch(text.lower())
    return None if found is None else f"GPU-{found[1]}"


def _normalize_nic(text: str) -> str | None:
    found = _GUID.fullmatch(text.lower())
    return _normalize_serial(text) if found is None else found[1].replace(":", "")


_READ: Final[dict[HardwareKind, Callable[[str], str | None]]] = {
    HardwareKind.GPU: _normalize_gpu,
    HardwareKind.NIC: _normalize_nic,
}
