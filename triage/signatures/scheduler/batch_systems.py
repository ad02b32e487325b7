"""PBS, LSF, Grid Engine and Flux: what ends a job there, and nodes that they lose."""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.signatures.host.agent_words import find_part
from triage.signatures.load import load
from triage.signatures.scheduler.node_names import named
from triage.signatures.severity import CONSEQUENCE, get_group_text
from triage.signatures.signature import Reading

_MAINTENANCE: Final = Category.HOST_MAINTENANCE


def lsf_reason(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """LSF's word for who ended the job."""
    reason = get_group_text(match, "reason")
    if reason.startswith(("memlimit", "swaplimit")):
        return Reading(category=Category.HOST_OOM, weak=True)
    if reason.startswith(("owner", "unknown", "external", "control_pid", "cwd")):
        return Reading(role=CONSEQUENCE, weak=True)
    return Reading()


def offline(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A node set offline: by a person, or by a check that names a part."""
    fields = {**named(match, "node", "marked", "host")}
    part = find_part(get_group_text(match, "why"))
    if part.category is None or part.category is _MAINTENANCE:
        return Reading(fields=fields)
    return Reading(
        category=part.category, also=part.also, gpu=part.gpu, fields={**fields, **part.fields}
    )


def lost(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The node that a scheduler lost, by whichever name its line gives."""
    hosts = ("node", "marked", "host", "unheard", "broker", "failed", "shell")
    return Reading(fields=named(match, *hosts))


SIGNATURES = load(__name__)
