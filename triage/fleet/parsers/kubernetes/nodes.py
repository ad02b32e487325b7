"""Nodes of Kubernetes, as ``kubectl get nodes -o json`` lists them: which are out, since when.

::

    {"kind": "Node", "metadata": {"name": "gpu003"}, "spec": {"unschedulable": true, "taints": [
       {"key": "node.kubernetes.io/unschedulable", "timeAdded": "2026-11-20T22:00:00Z"}]},
     "status": {"conditions": [{"type": "Ready", "status": "Unknown",
       "lastTransitionTime": "2026-11-20T22:00:40Z", "reason": "NodeStatusUnknown",
       "message": "Kubelet stopped posting node status."}]}}

A node that is not ready, or cordoned, is out until events or a later list say that it is back.
The product of its GPUs is taken as generation, ``network.topology.nvidia.com/leaf`` as its leaf
switch, and a control plane as a role of its own.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.fleet.domain.exposure import NodeFacts
from triage.fleet.parsers.json_document import listed, sub, text
from triage.fleet.parsers.node_changes import NodeChange, StateChange
from triage.fleet.parsers.rows import (
    MAX_REASON,
    Options,
    Passed,
    Row,
    RowError,
    Unread,
    name_in,
    time_in,
)

_PRODUCT: Final = "nvidia.com/gpu.product"
_LEAF: Final = "network.topology.nvidia.com/leaf"
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_CORDONED: Final = frozenset(
    {"node.kubernetes.io/unschedulable", "node.kubernetes.io/out-of-service"}
)
_IN_SERVICE: Final = Passed("nodes that are in service")
_SINCE_WHEN: Final = Passed("nodes that are cordoned, without a time since when")
# It is good where it is true; all others, node-problem-detector's too, are bad where they are.
_READY: Final = "Ready"


def node_facts(place: int, node: Mapping[str, Any], options: Options) -> Iterator[Row]:
    """What the labels of a node say."""
    labels = sub(sub(node, "metadata"), "labels")
    role = "control-plane" if any(name in labels for name in _CONTROL_PLANE) else None
    generation, leaf = text(labels.get(_PRODUCT)), text(labels.get(_LEAF))
    if not (generation or leaf or role):
        return
    try:
        yield NodeFacts(
            name_in(text(sub(node, "metadata").get("name")), "the name"),
            generation=name_in(generation, _PRODUCT) if generation else None,
            leaf_switch=name_in(leaf, _LEAF) if leaf else None,
            cluster=options.cluster,
            role=role,
        )
    except RowError as error:
        yield Unread(place, str(error))


def node_changes(
    place: int, node: Mapping[str, Any], options: Options, *, came_back: bool
) -> Iterator[NodeChange | Row]:
    """Since when a node is out and why; ``came_back`` asks when it became ready again."""
    try:
        name = name_in(text(sub(node, "metadata").get("name")), "the name")
        found = [*_ready_changes(name, node, options), *_taint_changes(name, node, options)]
    except RowError as error:
        yield Unread(place, str(error))
        return
    cordoned = bool(sub(node, "spec").get("unschedulable"))
    out = [change for change in found if change.change is not StateChange.UP]
    if cordoned and not any(change.change is StateChange.DRAIN for change in out):
        yield _SINCE_WHEN
    elif not out:
        yield _IN_SERVICE
    yield from found if came_back else out


def _ready_changes(name: str, node: Mapping[str, Any], options: Options) -> Iterator[NodeChange]:
    conditions = listed(sub(node, "status"), "conditions")
    for ready in conditions:
        if ready.get("type") != _READY:
            continue
        at = time_in(text(ready.get("lastTransitionTime")), "lastTransitionTime", options)
        if at is None:
            return
        if ready.get("status") == "True":
            yield NodeChange(at, StateChange.UP, name, "")
            return
        yield NodeChange(at, StateChange.DOWN, name, _words_of(ready))
        for other in conditions:
            if other.get("status") == "True" and other is not ready:
                yield NodeChange(at, StateChange.REASON, name, _words_of(other))


def _taint_changes(name: str, node: Mapping[str, Any], options: Options) -> Iterator[NodeChange]:
    for taint in listed(sub(node, "spec"), "taints"):
        if taint.get("key") in _CORDONED:
            at = time_in(text(taint.get("timeAdded")), "timeAdded", options)
            if at is not None:
                yield NodeChange(at, StateChange.DRAIN, name, text(taint.get("value"))[:MAX_REASON])


def _words_of(condition: Mapping[str, Any]) -> str:
    """Reason and message: ``NodeStatusUnknown: Kubelet stopped posting node status``."""
    parts = (text(condition.get("reason")), text(condition.get("message")))
    return ": ".join(part for part in parts if part)[:MAX_REASON]
