"""Kubernetes and what runs jobs on it: events, node conditions, evictions, preemption.

An event names its object, mostly a pod or a node, wherever it is printed; a pod's node is
known from the event that bound it. Who drains, taints, preempts or evicts ends the job from
outside; a node that is not ready has some cause of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import LASTING, Blame
from triage.domain.patterns import compile_re
from triage.signatures.host.agent_words import find_part
from triage.signatures.load import load
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.severity import NOISE, get_group_text
from triage.signatures.signature import Reading

_MAINTENANCE: Final = Category.HOST_MAINTENANCE
# How an event's line or a message names the node that it is about.
_ON_NODE: Final = compile_re(
    rf"\bnodes?[/ =:\"']{{1,3}}(?P<node>{HOST})|\bnode-name[=:]\"?(?P<other>{HOST})", re.IGNORECASE
)
# In front of the message in the table of events: "pod/llm-worker-5", "node/gpu-17".
_OBJECT: Final = compile_re(
    rf"(?<![\w/.-])(?P<kind>pod|node|Pod|Node)/(?P<name>(?:[\w.-]{{1,80}}/)?{HOST})"
)
_EVICTED_FROM: Final = compile_re(
    rf"evicted by the eviction API from (?P<node>{HOST})|\bdrained for \w{{1,20}} of node"
    rf" (?P<drained>{HOST})"
)
_NO_NODE: Final = frozenset(
    {"is", "was", "has", "had", "condition", "conditions", "status", "not", "will", "and", "or",
     "in", "on", "to", "the", "for", "with", "controller", "affinity", "selector", "shutdown",
     "pressure", "problem", "drain", "lifecycle", "label", "taint", "taints", "group", "pool",
     "level", "draining", "failure", "ready", "notready", "maintenance", "became", "went", "that",
     "names", "name", "s", "restart", "does", "did", "which", "lost", "object"}
)  # fmt: skip


def _collect_object_fields(text: str) -> dict[str, str]:
    """The node, else the pod, that a line is about."""
    evicted = _EVICTED_FROM.search(text)
    if evicted is not None:
        name = (evicted["node"] or evicted["drained"]).rstrip(".,:;")
        return {"node": name, "said_of": name}
    for match in _OBJECT.finditer(text):
        name = match["name"].rpartition("/")[2].rstrip(".,:;")
        if match["kind"].lower() == "node":
            return {"node": name, "said_of": name}
    for match in _ON_NODE.finditer(text):
        name = (match["node"] or match["other"] or "").rstrip(".,:;")
        if name and name.lower() not in _NO_NODE:
            return {"node": name, "said_of": name}
    found_pod = _OBJECT.search(text)
    if found_pod is not None:
        name = found_pod["name"].rpartition("/")[2].rstrip(".,:;")
        return {"node": name, "said_of": name, "pod": name}
    pod = _POD.search(text)
    if pod is not None:
        name = pod["pod"].rpartition("/")[2].rstrip(".,:;")
        return {"node": name, "said_of": name, "pod": name}
    return {}


def _announced(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A notice of what will end the node: it comes minutes ahead, and holds."""
    reading = node_of_event(match, after)
    return replace(reading, fields={**reading.fields, LASTING: "1"})


def preempted(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Whose pod had to go is said by the node that it ran on, where the line names one."""
    if re.search(r"DisruptionTarget\W{1,40}False", match.string):
        return None
    on = re.search(rf" on node (?P<node>{HOST})", match.string[match.start() :])
    if on is None:
        return Reading()
    name = on["node"].rstrip(".,:;")
    return Reading(blame=Blame.SELF, fields={"node": name, "said_of": name})


_POD: Final = compile_re(
    r"(?:\b[Pp]od[ =:\"']{1,3}|[Ee]victing pod )(?P<pod>(?:[\w.-]{1,80}/)?[a-z0-9]"
    r"[a-z0-9.]{0,60}-[\w.-]{1,120})"
)


# Somebody's plan: what else drains a node acts on what it found there.
_PLANNED: Final = compile_re(r"mainten|upgrad|kernel update|reboot|reclaim|scale.?down", re.I)


def node_of_event(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Whose node it is, as far as the line says."""
    return Reading(fields=_collect_object_fields(match.string[:2000]))


def ready(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Not ready is an outage, ready its end."""
    fields = {**named(match, "node", "object")} or _collect_object_fields(match.string[:2000])
    if get_group_text(match, "state") in ("ready", "nodeready"):
        return Reading(role=NOISE, category=Category.NONE, fields={**fields, "recovered": "yes"})
    return Reading(fields=fields)


def condition(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A condition of a node that says a problem; its own words name the part."""
    if get_group_text(match, "status") in ("false", "unknown", "ishealthy"):
        return None
    part = find_part(match.string[match.start() :])
    if part.category is None or part.category is _MAINTENANCE:
        return None
    return Reading(
        category=part.category,
        also=part.also,
        gpu=part.gpu,
        fields={**_collect_object_fields(match.string[:2000]), **part.fields},
    )


def pressure(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What a node runs out of: its local disk, its memory."""
    what = f"{get_group_text(match, 'what')} {get_group_text(match, 'resource')}"
    category = Category.HOST_OOM if re.search(r"memory|pid", what) else None
    return Reading(category=category, fields=_collect_object_fields(match.string[:2000]))


SIGNATURES = load(
    __name__,
    drain=lambda match, _after: Reading(
        fields={**named(match, "node", "named", "cordoned", "draining")}
        or _collect_object_fields(match.string[:2000]),
        weak=False if _PLANNED.search(match.string) else None,
    ),
    eviction=lambda match, after: (
        None if "ancelling deletion" in match.string else node_of_event(match, after)
    ),
    provider=lambda match, after: (
        None
        if re.search(r"Scheduled[ \t]{1,8}False|NoPreempt", match.string)
        else _announced(match, after)
    ),
)
