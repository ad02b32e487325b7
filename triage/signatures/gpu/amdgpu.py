"""AMD's GPU driver: rings that hang, resets, the management unit, and reliability reports.

A ring that times out is nearly always a program's doing, and the reset that follows
is its consequence. Reports of the hardware name the block: memory (umc), on-chip
memory of the engines, links (xgmi), or the bus.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.signatures.load import load
from triage.signatures.pci import normalize_bus_id
from triage.signatures.severity import (
    ADVICE,
    CORRECTED,
    FATAL,
    NOISE,
    ROOT,
    WARN,
    get_group_text,
)
from triage.signatures.signature import Reading

_BLOCKS = {
    "umc": (Category.GPU_HBM, ()),
    "hbm": (Category.GPU_HBM, ()),
    "xgmi": (Category.NVLINK, (Category.GPU,)),
    "pcie": (Category.GPU, (Category.IO_BOARD,)),
}


def place(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The GPU in front of the words."""
    bus = get_group_text(match, "bus")
    return Reading(gpu=normalize_bus_id(bus) if bus else None)


def block(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Counted errors by the block that met them; none at zero."""
    if get_group_text(match, "errors") == "0":
        return None
    # Deferred errors were found in memory that nobody has read since.
    corrected = get_group_text(match, "said") in ("correctable", "deferred")
    bus = get_group_text(match, "bus")
    category, also = _BLOCKS.get(
        get_group_text(match, "block").split("_")[0], (Category.GPU_SRAM, (Category.GPU,))
    )
    return Reading(
        category=category,
        also=also,
        gpu=normalize_bus_id(bus) if bus else None,
        role=ADVICE if corrected else None,
        weak=corrected,
        fields={"severity": CORRECTED if corrected else FATAL},
    )


def reset(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A reset that worked is over; one that did not is the GPU's fault."""
    bus = place(match, after).gpu
    word = get_group_text(match, "how")
    if word.startswith("succe"):
        return Reading(role=NOISE, category=Category.NONE, gpu=bus, fields={"severity": "info"})
    if word.startswith(("begin", "start")):
        return Reading(gpu=bus, fields={"severity": WARN})
    return Reading(
        role=ROOT,
        category=Category.GPU,
        also=(Category.SOFTWARE_FRAMEWORK,),
        gpu=bus,
        fields={"severity": FATAL},
    )


SIGNATURES = load(__name__)
