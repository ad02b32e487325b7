"""Why a node was out of service, as one of a few causes, out of the words of whoever wrote it down.

Tickets, schedulers and public traces each have words of their own. What none of the patterns
knows is ``unknown``, which is a cause with a rate like any other: on 400 servers that train
language models 144 of 584 faults are (InfiniteHBD trace).
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from triage.domain.patterns import compile_re


class OutageCause(StrEnum):
    """The part or the circumstance that took a node out."""

    GPU = "gpu"  # with its memory, its links and NVSwitches
    MEMORY = "memory"
    CPU = "cpu"
    BOARD = "board"  # mainboard, backplane, PCIe, management controller
    NIC = "nic"
    CABLE = "cable"  # with optics and transceivers
    SWITCH = "switch"  # whatever lies behind the cable
    STORAGE = "storage"
    POWER = "power"
    COOLING = "cooling"
    SOFTWARE = "software"
    FAILED_TEST = "failed_test"  # a test of the node failed, and no part is named
    HUMAN = "human"
    FACILITY = "facility"  # power or cooling of the building
    MAINTENANCE = "maintenance"
    UNKNOWN = "unknown"


def rank_vagueness(cause: str | None) -> int:
    """How little a cause says: 2 for an unknown one, 1 for a failed test, 0 for all others.

    >>> rank_vagueness(None), rank_vagueness("failed_test"), rank_vagueness(OutageCause.GPU)
    (2, 1, 0)
    """
    if cause is None or cause == OutageCause.UNKNOWN:
        return 2
    return int(cause == OutageCause.FAILED_TEST)


_VALUES: Final = frozenset(OutageCause)


@cache
def load_words() -> Mapping[str, Any]:
    """``words.toml``: what people and schedulers write, and what it means here."""
    text = files("triage.fleet.domain").joinpath("words.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def compile_words(name: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """The patterns of a table of ``words.toml`` with what each means, in order."""
    return [(compile_re(word, re.IGNORECASE), meaning) for word, meaning in load_words()[name]]


def classify_outage_cause(*texts: str) -> OutageCause:
    """The cause that these words name, the most general field first.

    >>> classify_outage_cause("Hardware Failure; Parameter Plane Cable; Link Down")
    <OutageCause.CABLE: 'cable'>
    >>> classify_outage_cause("Software", "Network"), classify_outage_cause("Not responding")
    (<OutageCause.SOFTWARE: 'software'>, <OutageCause.UNKNOWN: 'unknown'>)
    """
    fields = [text for text in texts if text and text.strip()]
    if len(fields) == 1 and (own := fields[0].strip().lower()) in _VALUES:
        return OutageCause(own)
    whole = "; ".join(fields)
    for pattern, cause in compile_words("cause_classes"):
        if pattern.match(whole):
            return OutageCause(cause)
    # A field that stands later is the narrower one.
    for text in (*reversed(fields), whole):
        for pattern, cause in compile_words("causes"):
            if pattern.search(text):
                return OutageCause(cause)
    return OutageCause.UNKNOWN


# What was done to a node before it came back, out of the words of a note or a ticket.


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


_ACTIONS: Final = frozenset(RepairAction)


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
    if (own := text.strip().lower()) in _ACTIONS:
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
