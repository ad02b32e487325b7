"""A list of Kubernetes objects: jobs and pods are runs, nodes and their events are outages.

::

    kubectl get nodes,events -A -o json
    {"kind": "List", "items": [{"kind": "Event", "reason": "NodeNotReady",
      "involvedObject": {"kind": "Node", "name": "gpu003"}, "lastTimestamp": ...}, ...]}
"""

from collections.abc import Iterator
from typing import Any, Final

from triage.fleet.parsers.json_document import objects_in, sub, text
from triage.fleet.parsers.kubernetes.events import event_changes, of_a_node
from triage.fleet.parsers.kubernetes.jobs import OWNERS, job_rows
from triage.fleet.parsers.kubernetes.nodes import node_changes, node_facts
from triage.fleet.parsers.node_changes import NodeChange, joined
from triage.fleet.parsers.rows import Options, Row, Unread

NAME: Final = "kubernetes"
_KINDS: Final = frozenset({*OWNERS, "Pod", "Node", "Event"})

_Placed = tuple[int, dict[str, Any]]


def claims(value: object) -> bool:
    """Whether it is a list of objects of Kubernetes, or one of those that we read."""
    if not isinstance(value, dict):
        return False
    kind = text(value.get("kind"))
    return kind in _KINDS or (kind.endswith("List") and isinstance(value.get("items"), list))


def rows(value: object, options: Options) -> Iterator[Row]:
    """Runs, outages and facts of nodes."""
    items = value.get("items", value) if isinstance(value, dict) else value
    jobs: list[_Placed] = []
    nodes: list[_Placed] = []
    events: list[_Placed] = []
    for place, item in objects_in(items):
        if item is None:
            yield Unread(place, "it is no object")
        elif item.get("kind") == "Node":
            nodes.append((place, dict(item)))
        elif item.get("kind") == "Event":
            events.append((place, dict(item)))
        else:
            jobs.append((place, dict(item)))
    yield from job_rows(jobs, options)
    for place, node in nodes:
        yield from node_facts(place, node, options)
    yield from joined(_changes(nodes, events, options), options)


def _changes(
    nodes: list[_Placed], events: list[_Placed], options: Options
) -> Iterator[NodeChange | Row]:
    for place, event in events:
        yield from event_changes(place, event, options)
    # That a node is ready says when it came back, and of a node that never went nothing.
    went = {of_a_node(event) for _, event in events}
    for place, node in nodes:
        name = text(sub(node, "metadata").get("name"))
        yield from node_changes(place, node, options, came_back=name in went)
