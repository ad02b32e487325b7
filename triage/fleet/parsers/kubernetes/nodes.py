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
from triage.fleet.parsers.json_document import get_child_object, get_text_value, list_child_objects
from triage.fleet.parsers.node_changes import NodeChange, StateChange
from triage.fleet.parsers.rows import (
    MAX_REASON,
    Options,
    Passed,
    Row,
    RowError,
    Unread,
    name_in,
    parse_row_time,
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


def iterate_node_facts(place: int, node: Mapping[str, Any], options: Options) -> Iterator[Row]:
    """What the labels of a node say."""
    labels = get_child_object(get_child_object(node, "metadata"), "labels")
    role = "control-plane" if any(name in labels for name in _CONTROL_PLANE) else None
    generation, leaf = get_text_value(labels.get(_PRODUCT)), get_text_value(labels.get(_LEAF))
    if not (generation or leaf or role):
        return
    try:
        yield NodeFacts(
            name_in(get_text_value(get_child_object(node, "metadata").get("name")), "the name"),
            generation=name_in(generation, _PRODUCT) if generation else None,
            leaf_switch=name_in(leaf, _LEAF) if leaf else None,
            cluster=options.cluster,
            role=role,
        )
    except RowError as error:
        yield Unread(place, str(error))


def iterate_node_changes(
    place: int, node: Mapping[str, Any], options: Options, *, came_back: bool
) -> Iterator[NodeChange | Row]:
    """Since when a node is out and why; ``came_back`` asks when it became ready again."""
    try:
        name = name_in(get_text_value(get_child_object(node, "metadata").get("name")), "the name")
        found = [
            *_iterate_ready_changes(name, node, options),
            *_iterate_taint_changes(name, node, options),
        ]
    except RowError as error:
        yield Unread(place, str(error))
        return
    cordoned = bool(get_child_object(node, "spec").get("unschedulable"))
    out = [change for change in found if change.change is not StateChange.UP]
    if cordoned and not any(change.change is StateChange.DRAIN for change in out):
        yield _SINCE_WHEN
    elif not out:
        yield _IN_SERVICE
    yield from found if came_back else out


def _iterate_ready_changes(
    name: str, node: Mapping[str, Any], options: Options
) -> Iterator[NodeChange]:
    conditions = list_child_objects(get_child_object(node, "status"), "conditions")
    for ready in conditions:
        if ready.get("type") != _READY:
            continue
        at = parse_row_time(
            get_text_value(ready.get("lastTransitionTime")), "lastTransitionTime", options
        )
        if at is None:
            return
        if ready.get("status") == "True":
            yield NodeChange(at, StateChange.UP, name, "")
            return
        yield NodeChange(at, StateChange.DOWN, name, _describe_condition(ready))
        for other in conditions:
            if other.get("status") == "True" and other is not ready:
                yield NodeChange(at, StateChange.REASON, name, _describe_condition(other))


def _iterate_taint_changes(
    name: str, node: Mapping[str, Any], options: Options
) -> Iterator[NodeChange]:
    for taint in list_child_objects(get_child_object(node, "spec"), "taints"):
        if taint.get("key") in _CORDONED:
            at = parse_row_time(get_text_value(taint.get("timeAdded")), "timeAdded", options)
            if at is not None:
                yield NodeChange(
                    at, StateChange.DRAIN, name, get_text_value(taint.get("value"))[:MAX_REASON]
                )


def _describe_condition(condition: Mapping[str, Any]) -> str:
    """Reason and message: ``NodeStatusUnknown: Kubelet stopped posting node status``."""
    parts = (get_text_value(condition.get("reason")), get_text_value(condition.get("message")))
    return ": ".join(part for part in parts if part)[:MAX_REASON]
