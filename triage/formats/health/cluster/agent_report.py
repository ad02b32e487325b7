"""What an agent of a node reports, as a result: which part, how bad, and on which GPU.

Agents (NVSentinel, gpud) read what drivers and DCGM print and word it anew. A number of the
driver (Xid) says the part as in the driver's own line; what the driver prints as a consequence,
or as advice, warns.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole
from triage.signatures.gpu.catalogue import sxid, xid
from triage.signatures.host.agent_words import gpu_fields, part_of_reason
from triage.signatures.pci import bus_id

__all__ = ["Complaint", "complaint_of", "gpu_part"]

# "XID 79 (GPU has fallen off the bus) detected on GPU-6b1f...", "ErrorCode:79"
XID: Final = re.compile(r"\b(s?)xid[ _:=#-]{0,3}(?:error[ :=]{0,2})?(\d{1,5})\b", re.IGNORECASE)
DCGM_NAME: Final = re.compile(r"\bDCGM_FR_([A-Z0-9_]{3,60})")
# The first word that a name of DCGM's errors holds: a limit of memory is no limit of power.
DCGM_PARTS: Final = (
    (("FALLEN_OFF", "LOST"), Category.GPU),
    (("SRAM",), Category.GPU_SRAM),
    (("DBE", "ROW_REMAP", "RETIRED", "PENDING_PAGE", "UNCORRECT", "ECC"), Category.GPU_HBM),
    (("NVLINK", "NVSWITCH", "IMEX", "FABRIC"), Category.NVLINK),
    (("THERMAL", "TEMP"), Category.GPU_THERMAL),
    (("POWER",), Category.POWER),
    (("PCI", "BAR1"), Category.IO_BOARD),
)
UUID: Final = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
DIGITS: Final = re.compile(r"\d{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Complaint:
    """The part that a report is about; ``follows`` where it is only what a fault brings along.

    ``gpu`` is ``dddd:bb:dd``, ``gpu 3`` or a uuid, as far as the words name one.
    """

    category: Category | None = None
    follows: bool = False
    gpu: str | None = None


@lru_cache(maxsize=4096)
def complaint_of(words: str, codes: tuple[str, ...] = ()) -> Complaint:
    """What some words complain of; ``codes`` are numbers or names of errors beside them.

    >>> complaint_of("GPU has fallen off the bus", ("79",)).category
    <Category.GPU: 'gpu'>
    """
    gpu = named_gpu(words)
    for code in codes:
        entry = xid(int(code)) if DIGITS.fullmatch(code) else None
        if entry is not None and entry.category is not None:
            return Complaint(entry.category, entry.role is not EvidenceRole.ROOT, gpu)
        category = of_dcgm(code)
        if category is not None:
            return Complaint(category, gpu=gpu)
    number = XID.search(words)
    if number is not None:
        known = (sxid if number[1] else xid)(int(number[2]))
        if known is not None and known.category is not None:
            return Complaint(known.category, known.role is not EvidenceRole.ROOT, gpu)
    category = of_dcgm(words)
    if category is not None:
        return Complaint(category, gpu=gpu)
    part = part_of_reason(words)
    return Complaint(part.category, part.after_the_job, gpu)


def of_dcgm(words: str) -> Category | None:
    """The part of the first DCGM error that some words name."""
    found = DCGM_NAME.search(words)
    if found is None:
        return None
    for marks, category in DCGM_PARTS:
        if any(mark in found[1] for mark in marks):
            return category
    return Category.GPU


def named_gpu(words: str) -> str | None:
    gpu, fields = gpu_fields(words[:1000])
    if gpu is not None:
        return gpu
    if "gpu_uuid" in fields:
        return fields["gpu_uuid"]
    return f"gpu {fields['gpu_index']}" if "gpu_index" in fields else None


def gpu_part(value: str) -> str | None:
    """``0000:6d:00`` of an address, ``gpu 3`` of a number, else a uuid; None for other words."""
    address = bus_id(value) if ":" in value else None
    if address is not None:
        return address
    if UUID.fullmatch(value.strip()):
        return value.strip()
    return f"gpu {int(value)}" if DIGITS.fullmatch(value.strip()) else None
