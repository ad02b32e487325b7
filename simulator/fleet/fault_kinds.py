"""The causes of a fleet like a real one: how frequent, how long, and what repairs them.

Counts of causes and how often each comes back within 7 days are those of 400 servers that train
language models (InfiniteHBD trace, 349 days: 584 faults, of which 144 unknown and 97 failed stress
tests). How well an action works for a cause is a judgement; no public record has both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.fleet.domain.cause import OutageCause
from triage.fleet.domain.repair import RepairAction

__all__ = ["FRONT_END", "KINDS", "FaultKind"]

Cause, Action = OutageCause, RepairAction


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One cause.

    ``weight``: how many of a thousand faults that come on their own. ``again``: chance that a
    repair does not take. ``scale_days``: of the Weibull time in repair. ``actions``: (how often
    tried, how many times as often as the mean it fails). ``words``: class and detail, of which
    :func:`cause_of` makes the cause again.
    """

    cause: OutageCause
    weight: float
    again: float
    scale_days: float
    category: Category
    words: tuple[tuple[str, str], ...]
    actions: Mapping[RepairAction, tuple[float, float]]


KINDS: Final = (
    FaultKind(
        Cause.UNKNOWN, 235, 0.46, 0.75, Category.NCCL_TIMEOUT, (("Other", "unknown error"),),
        {Action.REBOOT: (0.6, 1.1), Action.NONE: (0.3, 1.0), Action.REINSTALL: (0.1, 0.5)},
    ),
    FaultKind(
        Cause.FAILED_TEST, 75, 0.52, 0.9, Category.HOST_STALL, (("Other", "stress test failed"),),
        {Action.REBOOT: (0.4, 1.2), Action.NONE: (0.3, 1.2), Action.RESET_GPU: (0.2, 0.6),
         Action.REINSTALL: (0.1, 0.5)},
    ),
    FaultKind(
        Cause.GPU, 350, 0.20, 2.2, Category.GPU_HBM,
        (("Hardware", "GPU double-bit ECC error"), ("Hardware", "GPU lost"),
         ("Hardware", "GPU Xid error")),
        {Action.RESET_GPU: (0.3, 1.6), Action.REBOOT: (0.2, 1.5), Action.RESEAT: (0.1, 1.0),
         Action.SWAP_GPU: (0.4, 0.3)},
    ),
    FaultKind(
        Cause.CABLE, 125, 0.56, 1.5, Category.NETWORK, (("Hardware", "cable: link down"),),
        {Action.RESEAT: (0.4, 1.3), Action.CLEAN: (0.2, 1.1), Action.SWAP_CABLE: (0.4, 0.65)},
    ),
    FaultKind(
        Cause.NIC, 55, 0.66, 2.6, Category.NIC, (("Hardware", "NIC lost"),),
        {Action.RESEAT: (0.3, 1.2), Action.REBOOT: (0.3, 1.2), Action.SWAP_NIC: (0.4, 0.7)},
    ),
    FaultKind(
        Cause.POWER, 60, 0.31, 3.4, Category.POWER, (("Hardware", "power supply failed"),),
        {Action.RESEAT: (0.3, 1.7), Action.SWAP_POWER: (0.7, 0.7)},
    ),
    FaultKind(
        Cause.COOLING, 35, 0.16, 2.2, Category.GPU_THERMAL, (("Hardware", "fan speed critical"),),
        {Action.CLEAN: (0.2, 2.0), Action.SWAP_FAN: (0.8, 0.75)},
    ),
    FaultKind(
        Cause.SOFTWARE, 20, 0.30, 1.0, Category.SOFTWARE_FRAMEWORK,
        (("Software", "driver crashed"),),
        {Action.REBOOT: (0.7, 1.1), Action.REINSTALL: (0.3, 0.75)},
    ),
    FaultKind(
        Cause.STORAGE, 10, 0.30, 2.0, Category.SSD, (("Hardware", "local disk failed"),),
        {Action.REBOOT: (0.3, 1.5), Action.SWAP_DISK: (0.7, 0.8)},
    ),
    FaultKind(
        Cause.BOARD, 10, 0.30, 6.0, Category.IO_BOARD, (("Hardware", "mainboard"),),
        {Action.REBOOT: (0.3, 1.8), Action.SWAP_BOARD: (0.7, 0.65)},
    ),
)  # fmt: skip
"""Of the nodes that run jobs."""

FRONT_END: Final = {Cause.SOFTWARE: 0.6, Cause.STORAGE: 0.25, Cause.UNKNOWN: 0.15}
"""Of the front ends: how often each cause."""
