"""Slurm's own logs and tables: slurmctld, slurmd, prolog and epilog, sacct, scontrol.

A controller speaks of any job and of any node. What it does to a job that ran (time limit,
preemption, a node that somebody drains or reboots) can be the cause; what it does because a
node went silent follows from what silenced that node.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, Trait
from triage.signatures.host.agent_words import find_part
from triage.signatures.load import load
from triage.signatures.scheduler.node_names import named
from triage.signatures.severity import CONSEQUENCE, ROOT
from triage.signatures.signature import Reading

_MAINTENANCE: Final = Category.HOST_MAINTENANCE


def of_nodes(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose node it is about; several nodes at once are a rack, or what somebody chose."""
    fields = named(match, "nodes", "node")
    return Reading(fields=fields, blame=Blame.SHARED if "nodes" in fields else None)


# How an accounting table says that a job ended -> (role, category, weak).
_ENDS: Final = {
    "TIMEOUT": (ROOT, _MAINTENANCE, False),
    "DEADLINE": (ROOT, _MAINTENANCE, False),
    "PREEMPTED": (ROOT, _MAINTENANCE, False),
    "REQUEUED": (ROOT, _MAINTENANCE, True),
    "NODE_FAIL": (CONSEQUENCE, _MAINTENANCE, True),
    "BOOT_FAIL": (CONSEQUENCE, _MAINTENANCE, True),
    "OUT_OF_MEMORY": (ROOT, Category.HOST_OOM, True),
    "CANCELLED": (CONSEQUENCE, _MAINTENANCE, True),
}


def ended(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The state in which accounting left the job."""
    groups = match.groupdict()
    state = (groups.get("state") or groups.get("record") or "").upper().split(" ")[0]
    role, category, weak = _ENDS[state]
    return Reading(role=role, category=category, weak=weak)


def read_drain(match: re.Match[str]) -> Reading:
    """A drain, by whichever of its forms."""
    groups = match.groupdict()
    fields = named(match, "nodes", "node", "set", "updated")
    reason = groups["reason"] or groups["reason2"] or groups["reason3"] or ""
    blame = Blame.SHARED if "nodes" in fields else None
    part = find_part(reason)
    if part.after_the_job or "drain_nodes:" in match[0]:  # the controller itself, not a person
        return Reading(role=CONSEQUENCE, fields=fields, blame=blame)
    if part.category is None or part.category is _MAINTENANCE:
        return Reading(fields={**fields, **({"reason": reason} if reason else {})}, blame=blame)
    return Reading(
        role=CONSEQUENCE,
        category=part.category,
        also=part.also,
        gpu=part.gpu,
        fields={**fields, **part.fields},
        blame=blame,
        traits=frozenset({Trait.ROOT_WHEN_ALONE}),
    )


def _read_script_drain(match: re.Match[str]) -> Reading:
    """What a prolog or epilog found wrong; an epilog runs when the job has ended."""
    fields = named(match, "nodes")
    part = find_part(match["reason"])
    after = match["which"].lower() == "epilog"
    return Reading(
        role=CONSEQUENCE if after else None,
        category=part.category,
        also=part.also if part.category is not None else None,
        gpu=part.gpu,
        fields={**fields, **part.fields},
    )


SIGNATURES = load(
    __name__,
    failed_node=lambda match, _after: Reading(
        fields=named(match, "nodes", "node", "removed", "batch", "down")
    ),
    on_node=lambda match, _after: Reading(
        role=ROOT if "mainten" in (match["reason"] or "").lower() else None,
        fields=named(match, "node"),
    ),
    reboot_ordered=lambda match, _after: Reading(
        fields=named(match, "node", "nodes", "asap", "suspended")
    ),
    node_drained=lambda match, _after: read_drain(match),
    kill_task_failed=lambda match, _after: (
        None if "failed over" in match.string else of_nodes(match, ())
    ),
    returned=lambda match, _after: Reading(fields={**named(match, "nodes"), "recovered": "yes"}),
    lacks_part=lambda match, _after: Reading(
        category=Category.HOST_MEMORY if "real_memory" in match["what"] else None,
        also=() if "real_memory" in match["what"] else None,
        fields=named(match, "node", "changed"),
    ),
    prolog_failed=lambda match, _after: _read_script_drain(match),
)
