"""Intel's Gaudi driver: heartbeats, resets, memory and link reports of an accelerator.

The driver speaks with the PCI address in front, its newer releases with ``hl3`` or
``accel3`` too. Command submissions that do not end are nearly always a program's doing.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.pci import normalize_bus_id
from triage.signatures.severity import ADVICE, CORRECTED, FATAL, NOISE, WARN, get_group_text
from triage.signatures.signature import Reading


def place(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The accelerator in front of the words."""
    bus = get_group_text(match, "bus")
    return Reading(gpu=normalize_bus_id(bus) if bus else None)


# Received H/W interrupt 271 ["HBM0_MC0_SEI_SEVERE"]
_UNITS = (
    (compile_re(r"HBM", re.IGNORECASE), Category.GPU_HBM, (Category.GPU,)),
    (compile_re(r"ECC|SERR|DERR|SRAM|PARITY", re.IGNORECASE), Category.GPU_SRAM, (Category.GPU,)),
    (compile_re(r"NIC|PORT", re.IGNORECASE), Category.NIC, (Category.NETWORK, Category.GPU)),
    (compile_re(r"PCIE|PSWAP", re.IGNORECASE), Category.IO_BOARD, (Category.GPU,)),
    (compile_re(r"POWER", re.IGNORECASE), Category.POWER, (Category.GPU,)),
    (compile_re(r"THERM|OVERHEAT", re.IGNORECASE), Category.GPU_THERMAL, (Category.CHASSIS,)),
)
# What is corrected, only counted, or a limit that did its work.
_MILD = compile_re(r"NON_?SEVERE|SERR\b|_CORR|SINGLE|WARN|FIX_|ENV_S|ENV_E|THROTTL|_INFO", re.I)


def interrupt(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The unit in the name of the event, and whether it was corrected."""
    event = match["event"]
    category: Category = Category.GPU
    also: tuple[Category, ...] = (Category.SOFTWARE_USER,)
    for words, named, others in _UNITS:
        if words.search(event):
            category, also = named, others
            break
    mild = _MILD.search(event) is not None
    return Reading(
        category=category,
        also=also,
        gpu=place(match, after).gpu,
        role=ADVICE if mild else None,
        weak=mild or ("ECC" not in event.upper() and "SEVERE" not in event.upper()),
        fields={"severity": CORRECTED if mild else FATAL},
    )


def memory(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Which of the error bits of a memory channel are set."""
    gpu = place(match, after).gpu
    if match["double"] != "0" or re.search(r"_PAR=[1-9]", match[0]):
        return Reading(gpu=gpu, fields={"severity": FATAL})
    return Reading(role=ADVICE, weak=True, gpu=gpu, fields={"severity": CORRECTED})


def link(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A port of the accelerator that went down or came up."""
    gpu = place(match, after).gpu
    if get_group_text(match, "state") == "up":
        return Reading(
            role=NOISE,
            category=Category.NONE,
            gpu=gpu,
            fields={"severity": WARN, "state": "up", "recovered": "yes"},
        )
    return Reading(gpu=gpu, weak=True, fields={"state": "down"})


SIGNATURES = load(__name__)
