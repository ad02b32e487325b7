"""Slurm's words for the states of a node, and which of them take it out of service.

A state is a base and flags: ``IDLE+DRAIN``, ``DOWN*``, ``MIXED+PLANNED``, ``DRAINED``. The list
is that of ``node_state_string`` in Slurm's ``src/common/slurm_protocol_defs.c``.
"""

from functools import lru_cache
from typing import Final

from triage.domain.patterns import compile_re

DOWN: Final = frozenset(
    {"DOWN", "ERROR", "INVAL", "INVALID", "INVALID_REG", "FAIL", "FAILED", "FAILG", "FAILING"}
)
DRAIN: Final = frozenset({"DRAIN", "DRAINED", "DRAINING", "DRNG"})
MAINTENANCE: Final = frozenset({"MAINT", "MAINTENANCE", "REBOOT", "REBOOT_ISSUED"})
# Powered down to save power, or held for a job: nothing is wrong with the node.
_WELL: Final = frozenset(
    {
        *("IDLE", "ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP", "PLANNED", "PLND"),
        *("RESERVED", "RESV", "FUTURE", "FUTR", "UNKNOWN", "UNK", "BLOCKED", "BLOCK", "CLOUD"),
        *("POWER_DOWN", "POWERED_DOWN", "POWERING_DOWN", "POWER_UP", "POWERING_UP", "POWER_DRAIN"),
        *("POW_DN", "POW_UP", "POWERED_DN", "POWRING_DN", "REBOOT_REQUESTED", "CANCEL_REBOOT"),
        *("NO_RESPOND", "NOT_RESPONDING", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "PERFCTRS", "NPC"),
        *("RESUME", "RESM", "UNDRAIN", "EXTERNAL", "EXT"),
    }
)
_PARTED: Final = compile_re(r"[+,\s]+")
_MOST_CHARS: Final = 200
_MARKS: Final = "*~#!%$@^-+"


def _split_state(state: str) -> frozenset[str]:
    """The base and the flags of a state, without marks; none of what is no state by its length."""
    return _split_words(state) if len(state) <= _MOST_CHARS else frozenset()


@lru_cache(maxsize=256)
def _split_words(state: str) -> frozenset[str]:
    parts = _PARTED.split(state.strip().upper())
    return frozenset(part.strip(_MARKS) for part in parts) - {""}


def is_node_state(state: str) -> bool:
    """Whether Slurm has words like these; a state that it cuts (``DRAIN+``) is one."""
    found = _split_state(state)
    return bool(found) and found <= DOWN | DRAIN | MAINTENANCE | _WELL


def is_out(state: str) -> bool:
    """Whether a node in this state takes no jobs.

    >>> is_out("IDLE+DRAIN"), is_out("DOWN*"), is_out("IDLE+POWERED_DOWN"), is_out("MIXED+PLANNED")
    (True, True, False, False)
    """
    found = _split_state(state)
    # $ is a mark of a maintenance reservation.
    return bool(found & (DOWN | DRAIN | MAINTENANCE)) or "$" in state


def is_drained(state: str) -> bool:
    """Whether it was drained: it comes back when somebody says so, not when it answers."""
    return bool(_split_state(state) & DRAIN)


def is_maintenance(state: str) -> bool:
    """Whether it is out for maintenance, and for nothing else."""
    found = _split_state(state)
    return ("$" in state or bool(found & MAINTENANCE)) and not found & (DOWN | DRAIN)
