"""What was done to a node before it came back, out of the words of a note or a ticket."""

import re
from enum import StrEnum
from functools import cache
from typing import Final

from triage.domain.patterns import compile_re
from triage.fleet.domain.cause import compile_words, load_words


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


_VALUES: Final = frozenset(RepairAction)


@cache
def _compile_swap() -> re.Pattern[str]:
    return compile_re(load_words()["swap"], re.IGNORECASE)


def classify_repair_action(text: str) -> RepairAction | None:
    """What a note says was done; None where it says nothing of it.

    Of several actions the one that changes most is named: a swap before a reseat, that before
    a reboot.

    >>> classify_repair_action("GPU 3 replaced, rebooted"), classify_repair_action("Not responding")
    (<RepairAction.SWAP_GPU: 'swap_gpu'>, None)
    """
    if (own := text.strip().lower()) in _VALUES:
        return RepairAction(own)
    if swap := _compile_swap().search(text):
        clause = _extract_clause(text, swap.start())
        for pattern, action in compile_words("swapped"):
            if pattern.search(clause):
                return RepairAction(action)
    for pattern, action in compile_words("repairs"):
        if pattern.search(text):
            return RepairAction(action)
    return None


def _extract_clause(text: str, place: int) -> str:
    """The clause around ``place``, so that "DIMM error; cable replaced" swaps no memory."""
    begin = max((text.rfind(mark, 0, place) for mark in ",;.|\n"), default=-1)
    ends = [end for mark in ",;.|\n" if (end := text.find(mark, place)) >= 0]
    return text[begin + 1 : min(ends, default=len(text))]
