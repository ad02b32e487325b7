"""What each cause asks for: start again, start without some nodes, wait, or stop and fix.

A cause of hardware stays with its node, so the job starts without it. A cause in the job's own
code, data or settings comes again with every start, so it stops until somebody has fixed it. What
passes by itself is tried again, a few times.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from triage.domain.category import HARDWARE, Category
from triage.domain.restart import RestartDecision

_RESTART, _WITHOUT = RestartDecision.RESTART, RestartDecision.RESTART_WITHOUT
_STOP, _WAIT = RestartDecision.STOP, RestartDecision.WAIT


@dataclass(frozen=True, slots=True)
class Policy:
    """``retries`` is how many starts in a row may end by the cause before it is stopped;
    ``why`` is a sentence without its full stop.
    """

    decision: RestartDecision
    retries: int
    why: str


_PART: Final = Policy(_WITHOUT, 3, "A part that failed fails again until somebody has looked at it")
UNKNOWN_CAUSE: Final = Policy(_RESTART, 2, "Nothing tells the cause, and most such stops pass")

POLICIES: Final[Mapping[Category, Policy]] = {
    **dict.fromkeys(sorted(HARDWARE), _PART),
    Category.SDC: Policy(
        _WITHOUT, 3,
        "A GPU that computes wrong results does so again; start from a checkpoint of before",
    ),
    Category.GPU_THERMAL: Policy(_WITHOUT, 3, "A node that is too hot stays so until it is cooled"),
    Category.NETWORK: Policy(_WITHOUT, 3, "A link that failed fails again until it is checked"),
    Category.HOST_MAINTENANCE: Policy(
        _RESTART, 5, "The job was taken down from outside and did not fail by itself"
    ),
    Category.SOFTWARE_USER: Policy(_STOP, 0, "The same code ends the same way in every start"),
    Category.SOFTWARE_FRAMEWORK: Policy(
        _RESTART, 1, "A crash of a library may be a race, which a second start tells"
    ),
    Category.COLLECTIVE_MISMATCH: Policy(
        _STOP, 0, "Ranks that run different collectives part again at the same place"
    ),
    Category.HOST_STALL: Policy(_RESTART, 2, "A process that stood still may run in a new start"),
    Category.GPU_OOM: Policy(_STOP, 0, "The same batch needs the same GPU memory in every start"),
    Category.HOST_OOM: Policy(_STOP, 0, "The same job needs the same host memory in every start"),
    Category.NUMERICAL: Policy(
        _STOP,
        0,
        "The same data and settings diverge again; go back to a checkpoint and change them"
    ),
    Category.DEPENDENCY: Policy(
        _STOP, 0, "What does not fit does not fit in the next start either"
    ),
    Category.STORAGE: Policy(
        _WAIT, 3, "The job cannot run before the file system or checkpoint store answers again"
    ),
    Category.NCCL_TIMEOUT: Policy(
        _RESTART, 3, "Most timeouts without a cause do not come again in the next start"
    ),
    Category.STRAGGLER: Policy(_WITHOUT, 1, "The job goes on, held up by a slow node"),
    Category.NONE: UNKNOWN_CAUSE,
}  # fmt: skip

_NO_ROOM: Final = Policy(_STOP, 0, "There is no room on the disk before somebody makes some")
_DAMAGED: Final = Policy(
    _STOP, 0, "A damaged file is read again by every start; go back to a whole one"
)
_SERVICE: Final = Policy(_WAIT, 3, "The job cannot run before the service that it needs answers")
_OF_A_NODE: Final = Policy(_WITHOUT, 2, "That is set up wrongly on the node, and not in the job")
_AT_THE_START: Final = Policy(_RESTART, 2, "Ranks missed each other at the start, a race as a rule")
_SWITCH: Final = Policy(
    _WAIT, 3, "No node is at fault: wait until the links are up, or start elsewhere"
)

EXCEPTIONS: Final[Mapping[str, Policy]] = {
    "storage.full": _NO_ROOM,
    "engine.ray_disk": _NO_ROOM,
    "scheduler.container_disk": _NO_ROOM,
    "storage.damaged_file": _DAMAGED,
    "storage.torch_archive": _DAMAGED,
    "environment.licence": _SERVICE,
    "environment.hub": _SERVICE,
    "python.service": _SERVICE,
    "c10d.name_resolution": _SERVICE,
    "c10d.store_address_in_use": Policy(
        _RESTART, 2, "Who holds the port lets it go when the processes of this start are gone"
    ),
    "c10d.rendezvous_connection": _AT_THE_START,
    "c10d.store_timeout": _AT_THE_START,
    "python.fatal": Policy(_RESTART, 1, "A process that a signal ended may run in a second start"),
    "nvidia.version_mismatch": _OF_A_NODE,
    "slurm.prolog_failed": _OF_A_NODE,
    "gpu_tool.no_devices": _OF_A_NODE,
    "gpu_tool.container_devices": Policy(
        _RESTART, 3, "A container that lost its devices has them again when it is made anew"
    ),
    "cuda.no_device": _OF_A_NODE,
    "cuda.init_error": _OF_A_NODE,
    "python.nvml": _OF_A_NODE,
    "environment.container": _OF_A_NODE,
    "lockup.panic": Policy(
        _WITHOUT, 2, "A node whose kernel gave up is down until it is booted and looked at"
    ),
    "python.compiler": Policy(_STOP, 0, "The same kernel does not compile in the next start"),
    "cuda.invalid_argument": Policy(_STOP, 0, "The same call fails in the next start"),
    "scheduler.operator": Policy(_STOP, 0, "A person ended the job, and starts it again"),
}
"""By the signature of the line that the cause rests on, where a category holds several kinds."""


def choose_policy(category: Category, signatures: Iterable[str], *, outside: bool) -> Policy:
    """The policy of a cause. ``signatures`` are those of its lines, the telling ones first;
    ``outside`` is whether it is in no node.
    """
    special = next((EXCEPTIONS[one] for one in signatures if one in EXCEPTIONS), None)
    if special is not None:
        return special
    return _SWITCH if outside and category in HARDWARE else POLICIES[category]
