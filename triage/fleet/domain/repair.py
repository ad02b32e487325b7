"""What was done to a node before it came back, out of the words of a note or a ticket."""

import re
from enum import StrEnum
from typing import Final

from triage.domain.patterns import compile_re


class RepairAction(StrEnum):
    """What was done; ``none`` says that nothing was: no fault found, put back as it was."""

    NONE = "none"
    REBOOT = "reboot"
    RESET_GPU = "reset_gpu"
    RESEAT = "reseat"
    CLEAN = "clean"
    REINSTALL = "reinstall"  # an image, a driver, firmware
    SWAP_GPU = "swap_gpu"
    SWAP_CABLE = "swap_cable"
    SWAP_NIC = "swap_nic"
    SWAP_MEMORY = "swap_memory"
    SWAP_POWER = "swap_power"
    SWAP_FAN = "swap_fan"
    SWAP_DISK = "swap_disk"
    SWAP_CPU = "swap_cpu"
    SWAP_BOARD = "swap_board"
    SWAP_NODE = "swap_node"
    OTHER = "other"


# "GPU 3 replaced", "swapped the cable", "new DIMM", "HGX baseboard RMA", "CPU 2 exchanged"
_SWAP: Final = compile_re(
    r"\b(?:replac|swap|exchang|\brma\b|change[ds]?\b|new\b|installed new)", re.IGNORECASE
)
_SWAPPED: Final = tuple(
    (compile_re(pattern, re.IGNORECASE), action)
    for pattern, action in (
        (r"board|back ?plane|chassis|riser|retimer|tray|\bhgx\b", RepairAction.SWAP_BOARD),
        (r"gpu|\bsxm|\bhbm|\b[abh]\d00\b", RepairAction.SWAP_GPU),
        (r"cable|optic|transceiver|\b(?:dac|aoc|o?sfp|qsfp)\b", RepairAction.SWAP_CABLE),
        (r"\bnic\b|\bhca\b|adapter|connectx|network card|\bdpu\b", RepairAction.SWAP_NIC),
        (r"dimm|memory|\bram\b", RepairAction.SWAP_MEMORY),
        (r"power|\bpsu\b", RepairAction.SWAP_POWER),
        (r"\bfans?\b", RepairAction.SWAP_FAN),
        (r"disk|nvme|\bssd\b|drive\b", RepairAction.SWAP_DISK),
        (r"\bcpu\b|processor", RepairAction.SWAP_CPU),
        # "node changed to drain" is no repair.
        (r"^(?!.*\bchange).*(?:node|server|host|machine)", RepairAction.SWAP_NODE),
    )
)
_PATTERNS: Final = tuple(
    (compile_re(pattern, re.IGNORECASE), action)
    for pattern, action in (
        (
            r"no (?:fault|problem|issue|trouble|action|error)s?\b|\bnff\b|cannot reproduce"
            r"|could not reproduce|nothing found",
            RepairAction.NONE,
        ),
        (r"re-?seat|re-?insert|plugged|unplug", RepairAction.RESEAT),
        (r"\bclean(?:ed|ing)?\b", RepairAction.CLEAN),
        (r"gpu reset|reset (?:the |all )?gpu|smi (?:-r|--gpu-reset)", RepairAction.RESET_GPU),
        (
            r"re-?install|re-?imag|re-?flash|re-?provision|(?:firmware|driver|bios|vbios|image)"
            r"\W+(?:was |were )?(?:up|re|down)|(?:updat|upgrad|flash)\w* (?:the |its )?"
            r"(?:firmware|driver|bios|vbios|image)",
            RepairAction.REINSTALL,
        ),
        (r"re-?boot|power.?cycl|cold boot|restarted|\bac cycle", RepairAction.REBOOT),
        (r"repair|fixed|serviced|tighten|adjusted", RepairAction.OTHER),
    )
)  # fmt: skip


def classify_repair_action(text: str) -> RepairAction | None:
    """What a note says was done; None where it says nothing of it.

    Of several actions the one that changes most is named: a swap before a reseat, that before
    a reboot.

    >>> action_of("GPU 3 replaced, rebooted"), action_of("Not responding")
    (<RepairAction.SWAP_GPU: 'swap_gpu'>, None)
    """
    try:
        return RepairAction(text.strip().lower())
    except ValueError:
        pass
    if swap := _SWAP.search(text):
        clause = _extract_clause(text, swap.start())
        for pattern, action in _SWAPPED:
            if pattern.search(clause):
                return action
    for pattern, action in _PATTERNS:
        if pattern.search(text):
            return action
    return None


def _extract_clause(text: str, place: int) -> str:
    """The clause around ``place``, so that "DIMM error; cable replaced" swaps no memory."""
    begin = max((text.rfind(mark, 0, place) for mark in ",;.|\n"), default=-1)
    ends = [end for mark in ",;.|\n" if (end := text.find(mark, place)) >= 0]
    return text[begin + 1 : min(ends, default=len(text))]
