"""A list of Kubernetes objects: jobs and pods are runs, nodes and their events are outages.

::

    kubectl get nodes,events -A -o json
    {"kind": "List", "items": [{"kind": "Event", "reason": "NodeNotReady",
      "involvedObject": {"kind": "Node", "name": "gpu003"}, "lastTimestamp": ...}, ...]}

NodeNotReady and NodeReady, NodeNotSchedulable (cordoned) and NodeSchedulable begin and end an
outage. A reboot and a warning of a node are reasons for the outage that they fall into. The API
server forgets events after an hour: what is to be kept has to be exported as often.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from triage.fleet.parsers.json_document import (
    get_child_object,
    get_text_value,
    iterate_numbered_objects,
)
from triage.fleet.parsers.kubernetes.jobs import OWNERS, iterate_job_rows
from triage.fleet.parsers.kubernetes.nodes import iterate_node_changes, iterate_node_facts
from triage.fleet.parsers.node_changes import NodeChange, StateChange, join_changes
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

_NO_NODE: Final = Passed("events of other things than nodes")
_SAYS_NOTHING: Final = Passed("events that say nothing of whether a node is in service")
# kubelet/events/event.go and the node lifecycle controller.
_CHANGES: Final[Mapping[str, StateChange]] = {
    "NodeNotReady": StateChange.DOWN,
    "NodeShutdown": StateChange.DOWN,
    "Shutdown": StateChange.DOWN,
    "NodeReady": StateChange.UP,
    "NodeNotSchedulable": StateChange.DRAIN,
    "Cordon": StateChange.DRAIN,
    "NodeSchedulable": StateChange.UNDRAIN,
    "Uncordon": StateChange.UNDRAIN,
    "Rebooted": StateChange.REASON,
}
_TIMES: Final = (
    "firstTimestamp", "lastTimestamp", "eventTime", "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
)  # fmt: skip


def find_event_node(event: Mapping[str, Any]) -> str:
    """The node that an event is about; empty where it is about something else."""
    about = get_child_object(event, "involvedObject") or get_child_object(event, "regarding")
    return get_text_value(about.get("name")) if about.get("kind") == "Node" else ""


def iterate_event_changes(
    place: int, event: Mapping[str, Any], options: Options
) -> Iterator[NodeChange | Row]:
    """What an event changes; of one that was repeated the first and the last."""
    name, reason = find_event_node(event), get_text_value(event.get("reason"))
    if not name:
        yield _NO_NODE
        return
    change = _CHANGES.get(reason)
    if change is None and event.get("type") != "Warning":
        yield _SAYS_NOTHING
        return
    try:
        node = name_in(name, "the node")
        times = _parse_event_times(event, options)
        if not times:
            raise RowError("it has no time")
    except RowError as error:
        yield Unread(place, str(error))
        return
    reason_words = _describe_reason(reason, event, change)
    for at in times:
        yield NodeChange(at, StateChange.REASON if change is None else change, node, reason_words)


def _describe_reason(reason: str, event: Mapping[str, Any], change: StateChange | None) -> str:
    """What an event gives as a reason: one of a return none, one of going its own word."""
    if change in (StateChange.UP, StateChange.UNDRAIN):
        return ""
    if change in (StateChange.DOWN, StateChange.DRAIN):
        return reason
    return f"{reason}: {get_text_value(event.get('message') or event.get('note'))}"[:MAX_REASON]


def _parse_event_times(event: Mapping[str, Any], options: Options) -> list[datetime]:
    """When it was, first and last. Raises :class:`RowError`."""
    stamps = [get_text_value(event.get(key)) for key in _TIMES]
    stamps.append(get_text_value(get_child_object(event, "series").get("lastObservedTime")))
    return sorted(
        {at for word in stamps if (at := parse_row_time(word, "its time", options)) is not None}
    )


NAME: Final = "kubernetes"
_KINDS: Final = frozenset({*OWNERS, "Pod", "Node", "Event"})

_Placed = tuple[int, dict[str, Any]]


def is_object_list(value: object) -> bool:
    """Whether it is a list of objects of Kubernetes, or one of those that we read."""
    if not isinstance(value, dict):
        return False
    kind = get_text_value(value.get("kind"))
    return kind in _KINDS or (kind.endswith("List") and isinstance(value.get("items"), list))


def iterate_object_rows(value: object, options: Options) -> Iterator[Row]:
    """Runs, outages and facts of nodes."""
    items = value.get("items", value) if isinstance(value, dict) else value
    jobs: list[_Placed] = []
    nodes: list[_Placed] = []
    events: list[_Placed] = []
    for place, item in iterate_numbered_objects(items):
        if item is None:
            yield Unread(place, "it is no object")
        elif item.get("kind") == "Node":
            nodes.append((place, dict(item)))
        elif item.get("kind") == "Event":
            events.append((place, dict(item)))
        else:
            jobs.append((place, dict(item)))
    yield from iterate_job_rows(jobs, options)
    for place, node in nodes:
        yield from iterate_node_facts(place, node, options)
    yield from join_changes(_iterate_changes(nodes, events, options), options)


def _iterate_changes(
    nodes: list[_Placed], events: list[_Placed], options: Options
) -> Iterator[NodeChange | Row]:
    for place, event in events:
        yield from iterate_event_changes(place, event, options)
    # That a node is ready says when it came back, and of a node that never went nothing.
    went = {find_event_node(event) for _, event in events}
    for place, node in nodes:
        name = get_text_value(get_child_object(node, "metadata").get("name"))
        yield from iterate_node_changes(place, node, options, came_back=name in went)
