"""JAX, XLA and TensorFlow: the coordination service, its barriers and rendezvous.

A barrier that timed out and a task without heartbeats are what the others see of a
task that is gone. The task that the words name is the one that did not come, by its
number, which is that of its process.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.severity import CONSEQUENCE, ROOT
from triage.signatures.signature import Reading

_TASK = compile_re(r"/job:\w{1,40}(?:/replica:\d{1,6})?/task:(\d{1,7})")


def late_tasks(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The task that is named behind the words, where it is the only one."""
    named = list(dict.fromkeys(_TASK.findall(" ".join((match.string[match.start() :], *after)))))
    if len(named) != 1:
        return Reading()
    return Reading(peer=f"rank {named[0]}", blame=Blame.PEER)


# What XLA's status says, by its code; the messages behind it are those of many parts.
_STATUS = {
    "UNAVAILABLE": (CONSEQUENCE, None, ()),
    "CANCELLED": (CONSEQUENCE, None, ()),
    "ABORTED": (CONSEQUENCE, None, ()),
    "DEADLINE_EXCEEDED": (CONSEQUENCE, Category.NCCL_TIMEOUT, ()),
    "RESOURCE_EXHAUSTED": (ROOT, Category.GPU_OOM, (Category.HOST_OOM,)),
    "DATA_LOSS": (ROOT, Category.STORAGE, (Category.SSD, Category.SOFTWARE_USER)),
    "INVALID_ARGUMENT": (ROOT, Category.SOFTWARE_USER, (Category.SOFTWARE_FRAMEWORK,)),
    "FAILED_PRECONDITION": (ROOT, Category.DEPENDENCY, (Category.SOFTWARE_USER,)),
    "UNIMPLEMENTED": (ROOT, Category.DEPENDENCY, (Category.SOFTWARE_FRAMEWORK,)),
    "NOT_FOUND": (ROOT, Category.SOFTWARE_USER, (Category.STORAGE, Category.DEPENDENCY)),
    "INTERNAL": (ROOT, Category.SOFTWARE_FRAMEWORK, (Category.GPU, Category.DEPENDENCY)),
}


def by_code(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A status by its code. An end that only another task caused names that task, if any."""
    role, category, also = _STATUS[(match["code_name"] or match["code_alone"]).upper()]
    named = list(dict.fromkeys(_TASK.findall(match.string[match.start() :])))
    lost = role is CONSEQUENCE
    return Reading(
        role=role,
        category=category,
        also=also,
        weak=role is ROOT,
        blame=Blame.PEER if lost else None,
        peer=f"rank {named[0]}" if lost and len(named) == 1 else None,
    )


SIGNATURES = load(
    __name__,
    barrier=lambda match, after: None if "option" in match.string else late_tasks(match, after),
    backend=lambda match, _after: (
        None if "has no attribute" in match.string or "libtpu" in match.string else Reading()
    ),
)
