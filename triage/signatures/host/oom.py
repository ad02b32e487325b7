"""The kernel's out-of-memory killer: who asked, what was killed, and whose limit it was.

``fields["constraint"]`` says whether a container's limit or the whole node ran out;
the first needs another limit, the second may be any process of the node.
"""

import re
from collections.abc import Sequence

from triage.domain.evidence import Trait
from triage.signatures.load import load
from triage.signatures.program.process_names import Whose, classify_owner
from triage.signatures.severity import ADVICE
from triage.signatures.signature import Reading

_MEMCG = "CONSTRAINT_MEMCG"


def killed(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A limit of a group of processes, or of the node."""
    reach = (match["reach"] or "").lower()
    if "cgroup" in reach:
        return _read_group_oom(match["task"], {"constraint": _MEMCG})
    return of_the_node(match["task"], {"constraint": "CONSTRAINT_NONE"} if reach else {})


def of_the_node(task: str, fields: dict[str, str]) -> Reading:
    """The whole node ran out; where a service paid for it, the job may go on."""
    if classify_owner(task) is not Whose.SERVICE:
        return Reading(fields=fields)
    return Reading(weak=True, fields=fields, traits=frozenset({Trait.NOT_THE_JOB}))


def _read_group_oom(task: str, fields: dict[str, str]) -> Reading:
    """Other containers of the node reach their own limits, and the job does not feel it."""
    owner = classify_owner(task)
    if owner is Whose.JOB:
        return Reading(fields=fields)
    if owner is Whose.SERVICE:
        return Reading(role=ADVICE, weak=True, fields=fields, traits=frozenset({Trait.NOT_THE_JOB}))
    return Reading(weak=True, fields=fields, traits=frozenset({Trait.GENERIC}))


def constrained(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose limit: a group's, or all of the node."""
    limited = match["constraint"].upper() == _MEMCG
    return _read_group_oom(match["task"], {}) if limited else of_the_node(match["task"], {})


def invoked(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Who asked for memory: a service that did says nothing of the job, which was killed or not."""
    owner = classify_owner(match["task"])
    if owner is Whose.SERVICE:
        return Reading(weak=True, traits=frozenset({Trait.NOT_THE_JOB}))
    return Reading(weak=owner is Whose.UNKNOWN)


SIGNATURES = load(
    __name__,
    group_limit=lambda _match, _after: Reading(fields={"constraint": _MEMCG}),
)
