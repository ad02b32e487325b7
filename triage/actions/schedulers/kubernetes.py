"""Kubernetes: a drain is a cordon, a taint, a condition and an annotation; no pod is touched.

The node is cordoned, and the taint ``nccl-triage.internal/suspect=CATEGORY:NoSchedule`` says why
to everything that reads taints. The condition ``TriageSuspect`` ("True" is bad) shows it beside
the other conditions. The annotation ``nccl-triage.internal/drain`` holds our reason and what was
there before: by it, and by nothing else, a drain is known as ours. Domains that end in
``.internal`` belong to nobody by definition.

Cordon, taint and annotation are one change, which holds only for the version of the node that
was looked at. So of two actuators one acts, and the other finds it done.

It is asked by the official client, as plain JSON. Each request has a time limit and is sent once:
an act that may have been done is looked at before it is asked for again.
"""

import json
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any, Final

from kubernetes import client, config
from kubernetes.client.exceptions import OpenApiException
from urllib3.exceptions import HTTPError

from triage.actions.schedulers.interface import (
    NodeView,
    NoSuchNode,
    PoolView,
    SchedulerAway,
    SchedulerRefused,
    check_node_name,
    parse_reason_incident,
    parse_scheduler_time,
)
from triage.clock import read_utc_now
from triage.domain.own_events import CHECK
from triage.domain.wire import format_iso_utc
from triage.errors import TriageError, UsageError
from triage.render.words.clean import format_one_line
from triage.settings import Settings

TAINT: Final = "nccl-triage.internal/suspect"
DRAIN: Final = "nccl-triage.internal/drain"
CONDITION: Final = CHECK
GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "huawei.com/Ascend910")
# https://github.com/NVIDIA/NVSentinel: what its quarantine leaves on a node that it cordoned.
SENTINEL: Final = "quarantineHealthEvent"
SENTINEL_CORDONED: Final = "quarantineHealthEventIsCordoned"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
PAGE: Final = 250
# 401: a token that is just renewed; 409: a node that another writer has just changed; 410: a list
# that changed while it was paged.
LATER: Final = frozenset({401, 408, 409, 410, 425, 429})

Json = Mapping[str, Any]


class _Node:
    """What is read of a node. Raises :class:`SchedulerAway` for what is none.

    ``incident`` is that of the drain which our annotation tells of, and ``cordoned_before`` whether
    the node was cordoned then. ``tainted`` is whether our taint stands beside ``other_taints``,
    ``quarantined`` whether NVSentinel cordoned the node, too. ``conditions`` are those of ours by
    incident, with the time since when. ``reason`` and ``by`` say why and by whom it is drained or
    cordoned.
    """

    def __init__(self, found: Json) -> None:
        try:
            self._read(found["metadata"], found.get("spec", {}), found.get("status", {}))
        except (AttributeError, LookupError, TypeError) as error:
            raise SchedulerAway("the answer is no node: is this an API server?") from error

    def _read(self, metadata: Json, spec: Json, status: Json) -> None:
        annotations, taints = metadata.get("annotations", {}), spec.get("taints", [])
        self.name, self.version = metadata["name"], metadata["resourceVersion"]
        self.cordoned: bool = spec.get("unschedulable", False)
        self.other_taints = [one for one in taints if one["key"] != TAINT]
        self.tainted = len(self.other_taints) < len(taints)
        self.quarantined = annotations.get(SENTINEL_CORDONED) == "True"
        capacity = status.get("capacity", {})
        self.has_gpus = any(capacity.get(key, "0") != "0" for key in GPUS)
        self.conditions = {
            parse_reason_incident(one.get("message", "")): one.get("lastTransitionTime")
            for one in status.get("conditions", ())
            if one["type"] == CONDITION
        }
        self.marks = annotations.get(DRAIN, "")
        marks = _parse_object(self.marks)
        self.cordoned_before = marks.get("before") == {"unschedulable": True}
        self.reason, self.by = format_one_line(str(marks.get("reason")))[:300], "triage"
        self.incident = parse_reason_incident(self.reason)
        if self.incident is None:
            self.reason, self.by = describe_foreign_cordon(metadata) if self.cordoned else ("", "")

    @property
    def drained_by_us(self) -> bool:
        """Whether a drain with our annotation holds new pods off, by the cordon or by the taint."""
        return self.incident is not None and (self.cordoned or self.tainted)


class KubernetesScheduler:
    """:class:`triage.actions.schedulers.interface.Scheduler` over one API server.

    ``core`` is the client's ``CoreV1Api``.
    """

    name = "kubernetes"

    def __init__(self, core: client.CoreV1Api, timeout_s: float) -> None:
        self.core = core
        self.timeout_s = timeout_s

    def node(self, node: str) -> NodeView:
        """How the node stands."""
        seen = _Node(self._ask("read_node", check_node_name(node)))
        return NodeView(node, seen.cordoned or seen.drained_by_us, seen.reason, seen.by)

    def pool(self) -> PoolView:
        """The nodes that have GPUs; where none says that it has, all."""
        nodes = list(self._iterate_nodes())
        out = {
            one.name: parse_scheduler_time(next(iter(one.conditions.values()), None))
            for one in nodes
            if one.drained_by_us
        }
        return PoolView(sum(one.has_gpus for one in nodes) or len(nodes), out)

    def drain(self, node: str, reason: str) -> None:
        """Cordon, taint, say why. What runs there goes on; a cordon of others is kept in mind."""
        seen = self._look_for(node, reason)
        if not (seen.incident and seen.cordoned and seen.tainted):
            marks = {"reason": reason, "before": {"unschedulable": seen.cordoned}}
            ours = seen.marks if seen.incident else json.dumps(marks, separators=(",", ":"))
            taint = {"key": TAINT, "value": reason.split(":")[2], "effect": "NoSchedule"}
            spec = {"unschedulable": True, "taints": [*seen.other_taints, taint]}
            self._change_node(node, seen, ours, spec)
        if parse_reason_incident(reason) in seen.conditions:
            return
        try:
            self._set_condition(node, _build_condition(reason))
        except SchedulerRefused:
            # No half of a drain stays for which nobody answers.
            self.undrain(node, reason)
            raise

    def undrain(self, node: str, reason: str, _earlier: str = "") -> None:
        """Take back what our annotation stands for; a cordon that was there before stays."""
        seen = self._look_for(node, reason)
        # While the annotation stands the condition is that of no other incident.
        if parse_reason_incident(reason) in seen.conditions:
            self._set_condition(node, {"type": CONDITION, "$patch": "delete"})
            seen = self._look_for(node, reason)
        if seen.incident is None:
            return
        spec: dict[str, Any] = {"taints": seen.other_taints or None}
        if not (seen.cordoned_before or seen.quarantined):
            spec["unschedulable"] = None
        self._change_node(node, seen, None, spec)

    def _change_node(self, node: str, seen: _Node, marks: str | None, spec: Json) -> None:
        """Set annotation and spec, if the node still has the version that was looked at.

        Raises :class:`SchedulerAway` (409) where it is another by now.
        """
        metadata = {"annotations": {DRAIN: marks}, "resourceVersion": seen.version}
        self._ask("patch_node", node, {"metadata": metadata, "spec": spec}, _content_type=MERGE)

    def _look_for(self, node: str, reason: str) -> _Node:
        """The node. Raises :class:`SchedulerRefused` where another incident of ours holds it."""
        incident = parse_reason_incident(reason)
        if incident is None:
            raise SchedulerRefused(f"{format_one_line(reason)[:80]!r} is no reason of ours")
        seen = _Node(self._ask("read_node", check_node_name(node)))
        if seen.incident not in (None, incident):
            raise SchedulerRefused(f"the node is drained for another incident: {seen.reason}")
        return seen

    def _set_condition(self, node: str, condition: Json) -> None:
        """Set the one condition of this type; the others are other writers'."""
        body = {"status": {"conditions": [condition]}}
        self._ask("patch_node_status", node, body, _content_type=STRATEGIC)

    def _iterate_nodes(self) -> Iterator[_Node]:
        """All nodes, page by page."""
        more: dict[str, object] = {}
        while True:
            page = self._ask("list_node", limit=PAGE, **more)
            yield from map(_Node, page.get("items", ()))
            more = {"_continue": page.get("metadata", {}).get("continue")}
            if not more["_continue"]:
                return

    def _ask(self, method: str, *args: object, **options: object) -> Json:
        """What the server answers; the node's name is the first of ``args``.

        Raises :class:`SchedulerAway`, :class:`SchedulerRefused` or :class:`NoSuchNode`.
        """
        try:
            response = getattr(self.core, method)(
                *args, _preload_content=False, _request_timeout=self.timeout_s, **options
            )
            raw = response.data
        except (OpenApiException, HTTPError, HTTPException, OSError) as error:
            # What a request that is cut in the middle raises varies by where.
            raise self._convert_error(error, *args) from error
        answer = _parse_object(raw)
        if not answer:
            raise SchedulerAway("the answer is no JSON object: is this an API server?")
        return answer

    def _convert_error(self, error: Exception, node: object = "", *_: object) -> TriageError:
        """What an error of the client says of the act."""
        status, body = getattr(error, "status", None), getattr(error, "body", None) or b""
        if status == 404 and node:
            return NoSuchNode(f"Kubernetes knows no node {node}")
        if status:
            # A ``Status`` object has a message.
            text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
            why = format_one_line(str(_parse_object(body).get("message") or text))[:300]
            kind = SchedulerAway if status in LATER or status >= 500 else SchedulerRefused
            return kind(f"{status}: {why or 'no words'}")
        words = format_one_line(str(error))[:200] or type(error).__name__
        return SchedulerAway(f"no answer within {self.timeout_s:g} s: {words}")


def describe_foreign_cordon(metadata: Json) -> tuple[str, str]:
    """Why a node is cordoned that is not drained by us, and by whom, as far as it says so."""
    if SENTINEL in metadata.get("annotations", ()):
        return "quarantined for a health event", "NVSentinel"
    writers = (
        one
        for one in metadata.get("managedFields", ())
        if "f:unschedulable" in one.get("fieldsV1", {}).get("f:spec", ())
    )
    last: Json = max(writers, key=lambda one: str(one.get("time")), default={})
    at = f" at {last['time']}" if "time" in last else ""
    return f"cordoned{at}", str(last.get("manager", ""))


def _build_condition(reason: str) -> Json:
    now = format_iso_utc(read_utc_now().replace(microsecond=0))
    return {
        "type": CONDITION,
        "status": "True",
        "reason": reason.split(":")[2].title().replace("_", ""),
        "message": reason,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _parse_object(text: str | bytes) -> Json:
    """The object of a JSON text; an empty one for what is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def open_scheduler(settings: Settings) -> KubernetesScheduler:
    """By ``TRIAGE_ACT_KUBECONFIG``, or the pod's own service account where none is named.

    Raises :class:`UsageError` without the file or the account.
    """
    configuration = client.Configuration()
    configuration.retries = False
    try:
        if settings.act_kubeconfig:
            config.load_kube_config(settings.act_kubeconfig, client_configuration=configuration)
        else:
            config.load_incluster_config(client_configuration=configuration)
    except Exception as error:
        # A file of any content raises what its reader happens to.
        why = format_one_line(str(error))[:200] or type(error).__name__
        where = settings.act_kubeconfig or "the service account of this pod"
        raise UsageError(
            f"Kubernetes cannot be reached by {where}: {why}; TRIAGE_ACT_KUBECONFIG names a"
            " kubeconfig"
        ) from error
    core = client.CoreV1Api(client.ApiClient(configuration))
    return KubernetesScheduler(core, settings.act_timeout_s)
