"""Jobs of Kubernetes, as ``kubectl get jobs,jobsets,pytorchjobs,pods -A -o json`` lists them.

::

    {"kind": "List", "items": [{"kind": "Job", "metadata": {"namespace": "research", "name": ...},
      "status": {"startTime": "2026-11-21T01:00:00Z", "conditions": [{"type": "Failed", ...}]}}]}

A run is what was submitted: a JobSet, a PyTorchJob, a Job that belongs to neither, or pods of one
job of which only they are listed. Its job is ``NAMESPACE/NAME``, as hooks and collectors say it;
nodes and GPUs come from its pods, GPUs of a job without pods from its templates. Kubernetes
forgets: a Job that was deleted, and pods that were replaced, are not in the list.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from triage.domain.category import Category
from triage.fleet.domain.exposure import Ending, Run
from triage.fleet.domain.job_states import JobState, parse_job_state
from triage.fleet.parsers.json_document import get_child_object, get_text_value, list_child_objects
from triage.fleet.parsers.rows import (
    MAX_GPUS,
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

GPU: Final = "nvidia.com/gpu"
# What is submitted, by kind; the first of these that a pod's labels name is its run.
OWNERS: Final[Mapping[str, tuple[str, ...]]] = {
    "JobSet": ("jobset.sigs.k8s.io/jobset-name",),
    "PyTorchJob": ("training.kubeflow.org/job-name", "pytorch-job-name"),
    "Job": ("batch.kubernetes.io/job-name", "job-name"),
}
# Kubernetes writes all times in UTC.
ANY_TIME: Final = Options()
_NEVER_STARTED: Final = Passed("jobs that never started")
_NO_JOB: Final = Passed("objects that are no job and no pod of one")
_PARTS: Final = Passed("jobs that are part of another")
# Conditions of jobs that say how they ended.
_ENDED: Final = ("Complete", "Completed", "Succeeded", "Failed")

_Json = Mapping[str, Any]


@dataclass(slots=True)
class _JobObjects:
    """One job, gathered from its object and its pods."""

    place: int
    job: _Json | None = None
    pods: list[_Json] = field(default_factory=list)
    parts: list[_Json] = field(default_factory=list)
    """Jobs that it is made of."""


def iterate_job_rows(items: Iterable[tuple[int, _Json]], options: Options) -> Iterator[Row]:
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
    metadata = get_child_object(item, "metadata")
    namespace = get_text_value(metadata.get("namespace"))
    labels = get_child_object(metadata, "labels")
    for kind, names in OWNERS.items():
        if item.get("kind") == kind and get_text_value(metadata.get("name")):
            return kind, namespace, get_text_value(metadata.get("name"))
        for name in names:
            if item.get("kind") != kind and get_text_value(labels.get(name)):
                return kind, namespace, get_text_value(labels.get(name))
    return None


def _make_run(job_id: str, found: _JobObjects, options: Options) -> Row:
    """The run. Raises :class:`RowError`."""
    status = get_child_object(found.job or {}, "status")
    pods = [get_child_object(pod, "status") for pod in found.pods]
    started = [*pods, *(get_child_object(part, "status") for part in found.parts)]
    # A JobSet does not say when it started; what it is made of does.
    start = _parse_at(status.get("startTime"), "startTime") or min(
        (when for one in started if (when := _parse_at(one.get("startTime"), "startTime"))),
        default=None,
    )
    word, state, end = _determine_ending(found.job, status, pods)
    if start is None:
        return _NEVER_STARTED
    if options.last is not None and max(start, end or start) > options.last:
        raise RowError("it started or ended in the future")
    if end is not None and end < start:
        raise RowError("it ended before it started")
    nodes = sorted(
        {
            name_in(node, "a node")
            for pod in found.pods
            if (node := get_text_value(get_child_object(pod, "spec").get("nodeName")))
        }
    )
    gpus = sum(_count_pod_gpus(get_child_object(pod, "spec")) for pod in found.pods)
    return Run(
        job_id=name_in(job_id, "the job"),
        started_at=start,
        ended_at=end,
        ending=determine_ending(state, word, end),
        num_nodes=len(nodes),
        num_gpus=min(
            gpus or _count_wanted_gpus(get_child_object(found.job or {}, "spec")), MAX_GPUS
        ),
        nodes=tuple(nodes),
        cluster=options.cluster,
        cause=state.cause,
        source="kubernetes",
    )


def _determine_ending(
    job: _Json | None, status: _Json, pods: Sequence[_Json]
) -> tuple[str, JobState, datetime | None]:
    """How and when it ended: what the job says, else what all of its pods say."""
    for condition in list_child_objects(status, "conditions"):
        if condition.get("status") == "True" and condition.get("type") in _ENDED:
            word = get_text_value(condition.get("type"))
            reason = parse_job_state(get_text_value(condition.get("reason")))
            state = reason or parse_job_state(word) or JobState(Ending.UNKNOWN)
            end = _parse_at(status.get("completionTime"), "completionTime")
            return (
                word,
                _with_pods(state, pods),
                end or _parse_at(condition.get("lastTransitionTime"), "lastTransitionTime"),
            )
    if job is not None:
        return "running", JobState(Ending.RUNNING), None
    ends = [_end_of_pod(pod) for pod in pods]
    last = max((end for end in ends if end is not None), default=None)
    if None in ends or last is None:
        return "running", JobState(Ending.RUNNING), None
    failed = [pod for pod in pods if pod.get("phase") == "Failed"]
    word = "failed" if failed else "succeeded"
    return word, _with_pods(parse_job_state(word) or JobState(Ending.UNKNOWN), pods), last


def _with_pods(state: JobState, pods: Sequence[_Json]) -> JobState:
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
    yield get_text_value(pod.get("reason"))
    for condition in list_child_objects(pod, "conditions"):
        if condition.get("type") == "DisruptionTarget":
            yield get_text_value(condition.get("reason"))
    for container in list_child_objects(pod, "containerStatuses"):
        yield get_text_value(
            get_child_object(get_child_object(container, "state"), "terminated").get("reason")
        )


def _end_of_pod(pod: _Json) -> datetime | None:
    """When the last container of a pod that is over ended."""
    if pod.get("phase") not in ("Succeeded", "Failed"):
        return None
    ends = [
        _parse_at(
            get_child_object(get_child_object(one, "state"), "terminated").get("finishedAt"),
            "finishedAt",
        )
        for one in list_child_objects(pod, "containerStatuses")
    ]
    return max((end for end in ends if end is not None), default=None)


def _count_pod_gpus(pod_spec: _Json) -> int:
    """GPUs of all containers of a pod."""
    total = 0
    for container in list_child_objects(pod_spec, "containers"):
        resources = get_child_object(container, "resources")
        total += _number(
            get_child_object(resources, "limits").get(GPU)
            or get_child_object(resources, "requests").get(GPU)
        )
    return total


def _count_wanted_gpus(spec: _Json) -> int:
    """GPUs that the templates of a job ask for."""
    total = _number(spec.get("parallelism", 1)) * _count_pod_gpus(
        get_child_object(get_child_object(spec, "template"), "spec")
    )
    for replica in get_child_object(spec, "pytorchReplicaSpecs").values():
        if isinstance(replica, dict):
            pods = _number(replica.get("replicas", 1))
            total += pods * _count_pod_gpus(
                get_child_object(get_child_object(replica, "template"), "spec")
            )
    for replicated in list_child_objects(spec, "replicatedJobs"):
        jobs = _number(replicated.get("replicas", 1))
        total += jobs * _count_wanted_gpus(
            get_child_object(get_child_object(replicated, "template"), "spec")
        )
    return total


def _number(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and 0 <= value <= MAX_GPUS else 0


def _parse_at(value: object, what: str, options: Options = ANY_TIME) -> datetime | None:

    return parse_row_time(value, what, options) if isinstance(value, str) else None
