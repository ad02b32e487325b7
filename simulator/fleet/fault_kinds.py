"""The causes of a fleet like a real one: how frequent, how long, and what repairs them.

Counts of causes and how often each comes back within 7 days are those of 400 servers that train
language models (InfiniteHBD trace, 349 days: 584 faults, of which 144 unknown and 97 failed stress
tests). How well an action works for a cause is a judgement; no public record has both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.fleet.domain.cause import OutageCause, RepairAction

_Cause, _Action = OutageCause, RepairAction


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
        _Cause.UNKNOWN, 235, 0.46, 0.75, Category.NCCL_TIMEOUT, (("Other", "unknown error"),),
        {_Action.REBOOT: (0.6, 1.1), _Action.NONE: (0.3, 1.0), _Action.REINSTALL: (0.1, 0.5)},
    ),
    FaultKind(
        _Cause.FAILED_TEST, 75, 0.52, 0.9, Category.HOST_STALL, (("Other", "stress test failed"),),
        {_Action.REBOOT: (0.4, 1.2), _Action.NONE: (0.3, 1.2), _Action.RESET_GPU: (0.2, 0.6),
         _Action.REINSTALL: (0.1, 0.5)},
    ),
    FaultKind(
        _Cause.GPU, 350, 0.20, 2.2, Category.GPU_HBM,
        (("Hardware", "GPU double-bit ECC error"), ("Hardware", "GPU lost"),
         ("Hardware", "GPU Xid error")),
        {_Action.RESET_GPU: (0.3, 1.6), _Action.REBOOT: (0.2, 1.5), _Action.RESEAT: (0.1, 1.0),
         _Action.SWAP_GPU: (0.4, 0.3)},
    ),
    FaultKind(
        _Cause.CABLE, 125, 0.56, 1.5, Category.NETWORK, (("Hardware", "cable: link down"),),
        {_Action.RESEAT: (0.4, 1.3), _Action.CLEAN: (0.2, 1.1), _Action.SWAP_CABLE: (0.4, 0.65)},
    ),
    FaultKind(
        _Cause.NIC, 55, 0.66, 2.6, Category.NIC, (("Hardware", "NIC lost"),),
        {_Action.RESEAT: (0.3, 1.2), _Action.REBOOT: (0.3, 1.2), _Action.SWAP_NIC: (0.4, 0.7)},
    ),
    FaultKind(
        _Cause.POWER, 60, 0.31, 3.4, Category.POWER, (("Hardware", "power supply failed"),),
        {_Action.RESEAT: (0.3, 1.7), _Action.SWAP_POWER: (0.7, 0.7)},
    ),
    FaultKind(
        _Cause.COOLING, 35, 0.16, 2.2, Category.GPU_THERMAL, (("Hardware", "fan speed critical"),),
        {_Action.CLEAN: (0.2, 2.0), _Action.SWAP_FAN: (0.8, 0.75)},
    ),
    FaultKind(
        _Cause.SOFTWARE, 20, 0.30, 1.0, Category.SOFTWARE_FRAMEWORK,
        (("Software", "driver crashed"),),
        {_Action.REBOOT: (0.7, 1.1), _Action.REINSTALL: (0.3, 0.75)},
    ),
    FaultKind(
        _Cause.STORAGE, 10, 0.30, 2.0, Category.SSD, (("Hardware", "local disk failed"),),
        {_Action.REBOOT: (0.3, 1.5), _Action.SWAP_DISK: (0.7, 0.8)},
    ),
    FaultKind(
        _Cause.BOARD, 10, 0.30, 6.0, Category.IO_BOARD, (("Hardware", "mainboard"),),
        {_Action.REBOOT: (0.3, 1.8), _Action.SWAP_BOARD: (0.7, 0.65)},
    ),
)  # fmt: skip
"""Of the nodes that run jobs."""

FRONT_END: Final = {_Cause.SOFTWARE: 0.6, _Cause.STORAGE: 0.25, _Cause.UNKNOWN: 0.15}
"""Of the front ends: how often each cause."""
