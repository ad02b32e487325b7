"""What a scheduler's word for the state of a job says of how its run ended.

Slurm's and Kubernetes' words, in any case, and our own. What a person or the scheduler meant to
end (cancelled, preempted, out of time) is planned; all else that did not complete is unexpected.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from triage.domain.category import Category
from triage.fleet.domain.exposure import Ending

__all__ = ["JobState", "state_of"]


class JobState(NamedTuple):
    """``started`` is False for a job that has not been on any node yet."""

    ending: Ending
    cause: Category | None = None
    started: bool = True


COMPLETED: Final = JobState(Ending.COMPLETED)
FAILED: Final = JobState(Ending.UNEXPECTED)
PLANNED: Final = JobState(Ending.PLANNED)
RUNNING: Final = JobState(Ending.RUNNING)
UNKNOWN: Final = JobState(Ending.UNKNOWN)
WAITING: Final = JobState(Ending.UNKNOWN, started=False)
STATES: Final[Mapping[str, JobState]] = {
    # Slurm: "job state codes" of sacct, long and short.
    **dict.fromkeys(("completed", "cd"), COMPLETED),
    **dict.fromkeys(("failed", "f", "node_fail", "nf", "boot_fail", "bf"), FAILED),
    **dict.fromkeys(("launch_failed", "reconfig_fail", "special_exit", "se"), FAILED),
    # Slurm's is of the memory of the node, not of a GPU.
    **dict.fromkeys(
        ("out_of_memory", "oom", "oomkilled"), JobState(Ending.UNEXPECTED, Category.HOST_OOM)
    ),
    **dict.fromkeys(("cancelled", "canceled", "ca", "preempted", "pr", "timeout", "to"), PLANNED),
    **dict.fromkeys(("deadline", "dl", "revoked", "rv"), PLANNED),
    **dict.fromkeys(("running", "r", "completing", "cg", "suspended", "s"), RUNNING),
    **dict.fromkeys(("stopped", "st", "signaling", "si", "stage_out", "so", "resizing"), RUNNING),
    **dict.fromkeys(("pending", "pd", "configuring", "cf", "requeue_hold", "rh"), WAITING),
    **dict.fromkeys(("requeue_fed", "rf", "resv_del_hold", "rd"), WAITING),
    # Sent back into the queue: by the failure of a node or by a person, it does not say.
    **dict.fromkeys(("requeued", "rq", "unknown"), UNKNOWN),
    # Kubernetes: phases of pods, conditions and reasons of jobs.
    **dict.fromkeys(("succeeded", "complete"), COMPLETED),
    **dict.fromkeys(("error", "backofflimitexceeded", "podfailurepolicy"), FAILED),
    **dict.fromkeys(("deadlineexceeded", "deletionbyuser", "preemptionbyscheduler"), PLANNED),
    **dict.fromkeys(("deletionbypodgc", "terminationbykubelet"), UNKNOWN),
    "evictionbyevictionapi": PLANNED,
    "deletionbytaintmanager": FAILED,
    # Ours, where they are not among these.
    **dict.fromkeys(("unexpected", "interrupted"), FAILED),
    "planned": PLANNED,
}
# "CANCELLED by 1000", "CANCELLED+" where sacct cut it.
DETAIL: Final = re.compile(r"(?: by .*|\+)$", re.ASCII)


def state_of(text: str) -> JobState | None:
    """What the word says; None for one that is not known."""
    return STATES.get(DETAIL.sub("", text.strip().lower()))
