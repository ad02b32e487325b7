"""What a scheduler's word for the state of a job says of how its run ended.

Slurm's and Kubernetes' words, in any case, and our own. What a person or the scheduler meant to
end (cancelled, preempted, out of time) is planned; all else that did not complete is unexpected.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.fleet.domain.exposure import Ending


class JobState(NamedTuple):
    """``started`` is False for a job that has not been on any node yet."""

    ending: Ending
    cause: Category | None = None
    started: bool = True


_COMPLETED: Final = JobState(Ending.COMPLETED)
_FAILED: Final = JobState(Ending.UNEXPECTED)
_PLANNED: Final = JobState(Ending.PLANNED)
_RUNNING: Final = JobState(Ending.RUNNING)
_UNKNOWN: Final = JobState(Ending.UNKNOWN)
_WAITING: Final = JobState(Ending.UNKNOWN, started=False)
_STATES: Final[Mapping[str, JobState]] = {
    # Slurm: "job state codes" of sacct, long and short.
    **dict.fromkeys(("completed", "cd"), _COMPLETED),
    **dict.fromkeys(("failed", "f", "node_fail", "nf", "boot_fail", "bf"), _FAILED),
    **dict.fromkeys(("launch_failed", "reconfig_fail", "special_exit", "se"), _FAILED),
    # Slurm's is of the memory of the node, not of a GPU.
    **dict.fromkeys(
        ("out_of_memory", "oom", "oomkilled"), JobState(Ending.UNEXPECTED, Category.HOST_OOM)
    ),
    **dict.fromkeys(("cancelled", "canceled", "ca", "preempted", "pr", "timeout", "to"), _PLANNED),
    **dict.fromkeys(("deadline", "dl", "revoked", "rv"), _PLANNED),
    **dict.fromkeys(("running", "r", "completing", "cg", "suspended", "s"), _RUNNING),
    **dict.fromkeys(("stopped", "st", "signaling", "si", "stage_out", "so", "resizing"), _RUNNING),
    **dict.fromkeys(("pending", "pd", "configuring", "cf", "requeue_hold", "rh"), _WAITING),
    **dict.fromkeys(("requeue_fed", "rf", "resv_del_hold", "rd"), _WAITING),
    # Sent back into the queue: by the failure of a node or by a person, it does not say.
    **dict.fromkeys(("requeued", "rq", "unknown"), _UNKNOWN),
    # Kubernetes: phases of pods, conditions and reasons of jobs.
    **dict.fromkeys(("succeeded", "complete"), _COMPLETED),
    **dict.fromkeys(("error", "backofflimitexceeded", "podfailurepolicy"), _FAILED),
    **dict.fromkeys(("deadlineexceeded", "deletionbyuser", "preemptionbyscheduler"), _PLANNED),
    **dict.fromkeys(("deletionbypodgc", "terminationbykubelet"), _UNKNOWN),
    "evictionbyevictionapi": _PLANNED,
    "deletionbytaintmanager": _FAILED,
    # Ours, where they are not among these.
    **dict.fromkeys(("unexpected", "interrupted"), _FAILED),
    "planned": _PLANNED,
}
# "CANCELLED by 1000", "CANCELLED+" where sacct cut it.
_DETAIL: Final = compile_re(r"(?: by .*|\+)$", re.ASCII)


def parse_job_state(text: str) -> JobState | None:
    """What the word says; None for one that is not known."""
    return _STATES.get(_DETAIL.sub("", text.strip().lower()))
