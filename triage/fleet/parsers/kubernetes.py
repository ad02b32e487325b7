"""Objects of Kubernetes, as ``kubectl get ... -o json`` lists them.

::

    kubectl get jobs,jobsets,pytorchjobs,pods,nodes,events -A -o json
    {"kind": "List", "items": [
      {"kind": "Job", "metadata": {"namespace": "research", "name": ...},
       "status": {"startTime": "2026-11-21T01:00:00Z", "conditions": [{"type": "Failed", ...}]}},
      {"kind": "Node", "metadata": {"name": "gpu003"}, "spec": {"unschedulable": true, "taints": [
         {"key": "node.kubernetes.io/unschedulable", "timeAdded": "2026-11-20T22:00:00Z"}]},
       "status": {"conditions": [{"type": "Ready", "status": "Unknown",
         "lastTransitionTime": "2026-11-20T22:00:40Z", "reason": "NodeStatusUnknown",
         "message": "Kubelet stopped posting node status."}]}},
      {"kind": "Event", "reason": "NodeNotReady",
       "involvedObject": {"kind": "Node", "name": "gpu003"}, "lastTimestamp": ...}, ...]}

A run is what was submitted: a JobSet, a PyTorchJob, a Job that belongs to neither, or pods of one
job of which only they are listed. Its job is ``NAMESPACE/NAME``, as hooks and collectors say it;
nodes and GPUs come from its pods, GPUs of a job without pods from its templates. Kubernetes
forgets: a Job that was deleted, and pods that were replaced, are not in the list.

A node that is not ready, or cordoned, is out until events or a later list say that it is back.
The product of its GPUs is taken as generation, ``network.topology.nvidia.com/leaf`` as its leaf
switch, and a control plane as a role of its own. NodeNotReady and NodeReady, NodeNotSchedulable
(cordoned) and NodeSchedulable begin and end an outage. A reboot and a warning of a node are reasons
for the outage that they fall into. The API server forgets events after an hour: what is to be kept
has to be exported as often.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from triage.domain.category import Category
from triage.errors import Corrupt, Forbidden
from triage.fleet.domain.exposure import MAX_GPUS, Ending, JobState, NodeFacts, Run, parse_job_state
from triage.fleet.parsers.node_changes import NodeChange, StateChange, join_changes
from triage.fleet.parsers.rows import (
    MAX_REASON,
    Options,
    Passed,
    Row,
    RowError,
    Unread,
    determine_ending,
    name_in,
    parse_row_time,
    shorten_foreign_text,
)

NAME: Final = "kubernetes"
# Objects take ten times as much memory as their text.
_MAX_BYTES: Final = 128 << 20
# In a process with other things to do.
SPARING_BYTES: Final = 32 << 20
# A pod of 10 KB has a hundred; each takes a quarter of a kilobyte once it is read.
SPARING_OBJECTS: Final = 500_000
_GPU: Final = "nvidia.com/gpu"
# What is submitted, by kind; the first of these that a pod's labels name is its run.
_OWNERS: Final[Mapping[str, tuple[str, ...]]] = {
    "JobSet": ("jobset.sigs.k8s.io/jobset-name",),
    "PyTorchJob": ("training.kubeflow.org/job-name", "pytorch-job-name"),
    "Job": ("batch.kubernetes.io/job-name", "job-name"),
}
_KINDS: Final = frozenset({*_OWNERS, "Pod", "Node", "Event"})
# Kubernetes writes all times in UTC.
_ANY_TIME: Final = Options()
_NEVER_STARTED: Final = Passed("jobs that never started")
_NO_JOB: Final = Passed("objects that are no job and no pod of one")
_PARTS: Final = Passed("jobs that are part of another")
_IN_SERVICE: Final = Passed("nodes that are in service")
_SINCE_WHEN: Final = Passed("nodes that are cordoned, without a time since when")
_NO_NODE: Final = Passed("events of other things than nodes")
_SAYS_NOTHING: Final = Passed("events that say nothing of whether a node is in service")
# Conditions of jobs that say how they ended.
_ENDED: Final = ("Complete", "Completed", "Succeeded", "Failed")
_PRODUCT: Final = "nvidia.com/gpu.product"
_LEAF: Final = "network.topology.nvidia.com/leaf"
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_CORDONED: Final = frozenset(
    {"node.kubernetes.io/unschedulable", "node.kubernetes.io/out-of-service"}
)
# kubelet/events/event.go and the node lifecycle controller.
_CHANGES: Final[Mapping[str, StateChange]] = {
    **dict.fromkeys(("NodeNotReady", "NodeShutdown", "Shutdown"), StateChange.DOWN),
    "NodeReady": StateChange.UP,
    **dict.fromkeys(("NodeNotSchedulable", "Cordon"), StateChange.DRAIN),
    **dict.fromkeys(("NodeSchedulable", "Uncordon"), StateChange.UNDRAIN),
    "Rebooted": StateChange.REASON,
}
_TIMES: Final = (
    "firstTimestamp", "lastTimestamp", "eventTime", "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
)  # fmt: skip

_Json = Mapping[str, Any]
_Placed = tuple[int, _Json]


def read_document(pieces: Iterable[bytes], *, sparing: bool) -> object:
    """The value. Raises :class:`Corrupt` for what is none, :class:`Forbidden` beyond bounds."""
    kept, total, objects = [], 0, 0
    most = SPARING_BYTES if sparing else _MAX_BYTES
    for piece in pieces:
        total += len(piece)
        objects += piece.count(b"{") + piece.count(b"[") if sparing else 0
        if total > most:
            raise Forbidden(f"JSON of more than {most:,} bytes; export it in parts")
        if objects > SPARING_OBJECTS:
            raise Forbidden(f"JSON of more than {SPARING_OBJECTS:,} objects; export it in parts")
        kept.append(piece)
    try:
        value: object = orjson.loads(b"".join(kept).removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise Corrupt(f"it begins as JSON and is none: {error}") from error
    return value


def _get_object(value: _Json, *keys: str) -> _Json:
    """The object under these keys, one within the other; an empty one where there is none."""
    for key in keys:
        found = value.get(key)
        value = found if isinstance(found, dict) else {}
    return value


def _get_text(value: _Json, *keys: str) -> str:
    """The text under these keys; an empty one where there is none."""
    found = _get_object(value, *keys[:-1]).get(keys[-1])
    return found if isinstance(found, str) else ""


def _list_objects(value: _Json, *keys: str) -> list[_Json]:
    """The objects of the list under these keys."""
    found = _get_object(value, *keys[:-1]).get(keys[-1])
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _parse_at(value: _Json, *keys: str, options: Options = _ANY_TIME) -> datetime | None:
    """The time under these keys. Raises :class:`RowError`."""
    return parse_row_time(_get_text(value, *keys), keys[-1], options)


def is_object_list(value: object) -> bool:
    """Whether it is a list of objects of Kubernetes, or one of those that we read."""
    if not isinstance(value, dict):
        return False
    kind = _get_text(value, "kind")
    return kind in _KINDS or (kind.endswith("List") and isinstance(value.get("items"), list))


def iterate_object_rows(value: object, options: Options) -> Iterator[Row]:
    """Runs, outages and facts of nodes."""
    items = value.get("items", value) if isinstance(value, dict) else value
    of_kind: dict[str, list[_Placed]] = {"Node": [], "Event": [], "": []}
    for place, item in enumerate(items if isinstance(items, list) else [items], 1):
        if isinstance(item, dict):
            kind = _get_text(item, "kind")
            of_kind[kind if kind in of_kind else ""].append((place, item))
        else:
            yield Unread(place, "it is no object")
    yield from _iterate_job_rows(of_kind[""], options)
    for place, node in of_kind["Node"]:
        yield from _iterate_node_facts(place, node, options)
    yield from join_changes(_iterate_changes(of_kind["Node"], of_kind["Event"], options), options)


@dataclass(slots=True)
class _JobObjects:
    """One job, gathered from its object and its pods."""

    place: int
    job: _Json | None = None
    pods: list[_Json] = field(default_factory=list)
    parts: list[_Json] = field(default_factory=list)
    """Jobs that it is made of."""


def _iterate_job_rows(items: Iterable[tuple[int, _Json]], options: Options) -> Iterator[Row]:
    """The runs of the objects of a list, each with its place."""
    found: dict[tuple[str, str, str], _JobObjects] = {}
    for place, item in items:
        owner = _find_owner(item)
        if owner is None:
            yield _NO_JOB
        elif item.get("kind") == "Pod":
            found.setdefault(owner, _JobObjects(place)).pods.append(item)
        elif owner[0] == item.get("kind"):
            found.setdefault(owner, _JobObjects(place)).job = item
        else:
            found.setdefault(owner, _JobObjects(place)).parts.append(item)
            yield _PARTS
    for (_, namespace, name), one in found.items():
        try:
            yield _make_run(f"{namespace}/{name}" if namespace else name, one, options)
        except RowError as error:
            yield Unread(one.place, f"{shorten_foreign_text(name)}: {error}")


def _find_owner(item: _Json) -> tuple[str, str, str] | None:
    """(kind, namespace, name) of the run that an object is of; None for what is of none."""
    metadata = _get_object(item, "metadata")
    namespace = _get_text(metadata, "namespace")
    labels = _get_object(metadata, "labels")
    for kind, names in _OWNERS.items():
        if item.get("kind") == kind and _get_text(metadata, "name"):
            return kind, namespace, _get_text(metadata, "name")
        for name in names:
            if item.get("kind") != kind and _get_text(labels, name):
                return kind, namespace, _get_text(labels, name)
    return None


def _make_run(job_id: str, found: _JobObjects, options: Options) -> Row:
    """The run. Raises :class:`RowError`."""
    job = found.job or {}
    pods = [_get_object(pod, "status") for pod in found.pods]
    started = [*pods, *(_get_object(part, "status") for part in found.parts)]
    # A JobSet does not say when it started; what it is made of does.
    start = _parse_at(job, "status", "startTime") or min(
        (when for one in started if (when := _parse_at(one, "startTime"))), default=None
    )
    word, state, end = _determine_end(found.job, pods)
    if start is None:
        return _NEVER_STARTED
    if options.last is not None and max(start, end or start) > options.last:
        raise RowError("it started or ended in the future")
    if end is not None and end < start:
        raise RowError("it ended before it started")
    names = {_get_text(pod, "spec", "nodeName") for pod in found.pods} - {""}
    nodes = sorted(name_in(name, "a node") for name in names)
    gpus = sum(_count_pod_gpus(_get_object(pod, "spec")) for pod in found.pods)
    return Run(
        job_id=name_in(job_id, "the job"),
        started_at=start,
        ended_at=end,
        ending=determine_ending(state, word, end),
        num_nodes=len(nodes),
        num_gpus=min(gpus or _count_wanted_gpus(_get_object(job, "spec")), MAX_GPUS),
        nodes=tuple(nodes),
        cluster=options.cluster,
        cause=state.cause,
        source=NAME,
    )


def _determine_end(
    job: _Json | None, pods: Sequence[_Json]
) -> tuple[str, JobState, datetime | None]:
    """How and when it ended: what the job says, else what all of its pods say."""
    for condition in _list_objects(job or {}, "status", "conditions"):
        word = _get_text(condition, "type")
        if condition.get("status") == "True" and word in _ENDED:
            reason = parse_job_state(_get_text(condition, "reason"))
            state = reason or parse_job_state(word) or JobState(Ending.UNKNOWN)
            end = _parse_at(job or {}, "status", "completionTime")
            return (
                word,
                _explain_by_pods(state, pods),
                end or _parse_at(condition, "lastTransitionTime"),
            )
    ends = [_find_pod_end(pod) for pod in pods]
    last = max((end for end in ends if end is not None), default=None)
    if job is not None or None in ends or last is None:
        return "running", JobState(Ending.RUNNING), None
    word = "failed" if any(pod.get("phase") == "Failed" for pod in pods) else "succeeded"
    return word, _explain_by_pods(parse_job_state(word) or JobState(Ending.UNKNOWN), pods), last


def _explain_by_pods(state: JobState, pods: Sequence[_Json]) -> JobState:
    """A failure as the pods explain it: preempted ones were planned, others out of memory."""
    if state.ending != Ending.UNEXPECTED:
        return state
    said = {word for pod in pods for word in _iterate_reasons(pod)}
    if Ending.PLANNED in {known.ending for word in said if (known := parse_job_state(word))}:
        return JobState(Ending.PLANNED)
    if "OOMKilled" in said:
        return JobState(Ending.UNEXPECTED, Category.HOST_OOM)
    return state


def _iterate_reasons(pod: _Json) -> Iterator[str]:
    yield _get_text(pod, "reason")
    for condition in _list_objects(pod, "conditions"):
        if condition.get("type") == "DisruptionTarget":
            yield _get_text(condition, "reason")
    for container in _list_objects(pod, "containerStatuses"):
        yield _get_text(container, "state", "terminated", "reason")


def _find_pod_end(pod: _Json) -> datetime | None:
    """When the last container of a pod that is over ended."""
    if pod.get("phase") not in ("Succeeded", "Failed"):
        return None
    containers = _list_objects(pod, "containerStatuses")
    ends = (_parse_at(one, "state", "terminated", "finishedAt") for one in containers)
    return max((end for end in ends if end is not None), default=None)


def _count_pod_gpus(pod_spec: _Json) -> int:
    """GPUs of all containers of a pod."""
    return sum(
        _read_number(
            _get_object(container, "resources", "limits").get(_GPU)
            or _get_object(container, "resources", "requests").get(_GPU)
        )
        for container in _list_objects(pod_spec, "containers")
    )


def _count_wanted_gpus(spec: _Json) -> int:
    """GPUs that the templates of a job ask for."""
    total = _read_number(spec.get("parallelism", 1)) * _count_pod_gpus(
        _get_object(spec, "template", "spec")
    )
    for replica in _get_object(spec, "pytorchReplicaSpecs").values():
        if isinstance(replica, dict):
            pods = _read_number(replica.get("replicas", 1))
            total += pods * _count_pod_gpus(_get_object(replica, "template", "spec"))
    for replicated in _list_objects(spec, "replicatedJobs"):
        jobs = _read_number(replicated.get("replicas", 1))
        total += jobs * _count_wanted_gpus(_get_object(replicated, "template", "spec"))
    return total


def _read_number(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and 0 <= value <= MAX_GPUS else 0


def _iterate_node_facts(place: int, node: _Json, options: Options) -> Iterator[Row]:
    """What the labels of a node say."""
    labels = _get_object(node, "metadata", "labels")
    role = "control-plane" if any(name in labels for name in _CONTROL_PLANE) else None
    generation, leaf = _get_text(labels, _PRODUCT), _get_text(labels, _LEAF)
    if not (generation or leaf or role):
        return
    try:
        yield NodeFacts(
            name_in(_get_text(node, "metadata", "name"), "the name"),
            generation=name_in(generation, _PRODUCT) if generation else None,
            leaf_switch=name_in(leaf, _LEAF) if leaf else None,
            cluster=options.cluster,
            role=role,
        )
    except RowError as error:
        yield Unread(place, str(error))


def _iterate_node_changes(
    place: int, node: _Json, options: Options, *, came_back: bool
) -> Iterator[NodeChange | Row]:
    """Since when a node is out and why; ``came_back`` asks when it became ready again."""
    try:
        name = name_in(_get_text(node, "metadata", "name"), "the name")
        found = [
            *_iterate_ready_changes(name, node, options),
            *_iterate_taint_changes(name, node, options),
        ]
    except RowError as error:
        yield Unread(place, str(error))
        return
    out = [change for change in found if change.change is not StateChange.UP]
    is_drained = any(change.change is StateChange.DRAIN for change in out)
    if _get_object(node, "spec").get("unschedulable") and not is_drained:
        yield _SINCE_WHEN
    elif not out:
        yield _IN_SERVICE
    yield from found if came_back else out


def _iterate_ready_changes(name: str, node: _Json, options: Options) -> Iterator[NodeChange]:
    """Ready is good where it is true; all other conditions are bad where they are."""
    conditions = _list_objects(node, "status", "conditions")
    for ready in conditions:
        if ready.get("type") != "Ready":
            continue
        at = _parse_at(ready, "lastTransitionTime", options=options)
        if at is None:
            return
        if ready.get("status") == "True":
            yield NodeChange(at, StateChange.UP, name, "")
            return
        yield NodeChange(at, StateChange.DOWN, name, _describe_condition(ready))
        for other in conditions:
            if other.get("status") == "True" and other is not ready:
                yield NodeChange(at, StateChange.REASON, name, _describe_condition(other))


def _iterate_taint_changes(name: str, node: _Json, options: Options) -> Iterator[NodeChange]:
    for taint in _list_objects(node, "spec", "taints"):
        at = _parse_at(taint, "timeAdded", options=options)
        if taint.get("key") in _CORDONED and at is not None:
            yield NodeChange(at, StateChange.DRAIN, name, _get_text(taint, "value")[:MAX_REASON])


def _describe_condition(condition: _Json) -> str:
    """Reason and message: ``NodeStatusUnknown: Kubelet stopped posting node status``."""
    parts = (_get_text(condition, "reason"), _get_text(condition, "message"))
    return ": ".join(part for part in parts if part)[:MAX_REASON]


def _find_event_node(event: _Json) -> str:
    """The node that an event is about; empty where it is about something else."""
    about = _get_object(event, "involvedObject") or _get_object(event, "regarding")
    return _get_text(about, "name") if about.get("kind") == "Node" else ""


def _iterate_event_changes(
    place: int, event: _Json, options: Options
) -> Iterator[NodeChange | Row]:
    """What an event changes; of one that was repeated the first and the last."""
    name, reason = _find_event_node(event), _get_text(event, "reason")
    if not name:
        yield _NO_NODE
        return
    change = _CHANGES.get(reason)
    if change is None and event.get("type") != "Warning":
        yield _SAYS_NOTHING
        return
    try:
        node = name_in(name, "the node")
        stamps = [_get_text(event, key) for key in _TIMES]
        stamps.append(_get_text(event, "series", "lastObservedTime"))
        times = {parse_row_time(stamp, "its time", options) for stamp in stamps} - {None}
        if not times:
            raise RowError("it has no time")
    except RowError as error:
        yield Unread(place, str(error))
        return
    words = ""
    if change in (StateChange.DOWN, StateChange.DRAIN):
        words = reason
    elif change not in (StateChange.UP, StateChange.UNDRAIN):
        message = _get_text(event, "message") or _get_text(event, "note")
        words = f"{reason}: {message}"[:MAX_REASON]
    for at in sorted(filter(None, times)):
        yield NodeChange(at, StateChange.REASON if change is None else change, node, words)


def _iterate_changes(
    nodes: list[_Placed], events: list[_Placed], options: Options
) -> Iterator[NodeChange | Row]:
    for place, event in events:
        yield from _iterate_event_changes(place, event, options)
    # That a node is ready says when it came back, and of a node that never went nothing.
    went = {_find_event_node(event) for _, event in events}
    for place, node in nodes:
        name = _get_text(node, "metadata", "name")
        yield from _iterate_node_changes(place, node, options, came_back=name in went)
