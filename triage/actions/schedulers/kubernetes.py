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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from typing import Any, Final

from kubernetes import client, config
from kubernetes.client.exceptions import OpenApiException
from urllib3.exceptions import HTTPError

from triage.actions.schedulers.interface import (
    NodeView,
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
MAX_ANSWER: Final = 64 * 1024 * 1024
MAX_MARKS: Final = 2000
PAGE: Final = 250
MAX_PAGES: Final = 200
# 401: a token that is just renewed; 409: a node that another writer has just changed; 410: a list
# that changed while it was paged.
LATER: Final = frozenset({401, 408, 409, 410, 425, 429})

Json = Mapping[str, Any]


class NotThere(SchedulerRefused):
    """No such node (404)."""


@dataclass(frozen=True, slots=True)
class _Node:
    """What is read of a node.

    ``incident`` is that of the drain which our annotation tells of, ``reason`` the words of it,
    and ``cordoned_before`` whether the node was cordoned then. ``tainted`` is whether our taint
    stands beside ``other_taints``, ``quarantined`` whether NVSentinel cordoned the node, too.
    ``conditions`` are those of ours by incident, with the time since when.
    """

    name: str
    version: str
    cordoned: bool
    tainted: bool
    other_taints: Sequence[Json]
    incident: str | None
    reason: str
    cordoned_before: bool
    quarantined: bool
    conditions: Mapping[str, datetime | None]

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
        try:
            found = self._ask("read_node", check_node_name(node))
        except NotThere:
            return NodeView(node, exists=False)
        seen, reason, by = _parse_node(found), "", ""
        if seen.incident is not None:
            reason, by = seen.reason, "triage"
        elif seen.cordoned:
            reason, by = describe_foreign_cordon(found)
        drained = seen.cordoned or seen.drained_by_us
        return NodeView(node, exists=True, drained=drained, reason=reason, by=by)

    def pool(self) -> PoolView:
        """The nodes that have GPUs; where none says that it has, all."""
        total = with_gpus = 0
        out = {}
        for one in self._iterate_nodes():
            total += 1
            capacity = _get_child(one, "status", "capacity")
            with_gpus += any(str(capacity.get(key, "0")) != "0" for key in GPUS)
            seen = _parse_node(one)
            if seen.drained_by_us:
                out[seen.name] = next(iter(seen.conditions.values()), None)
        return PoolView(with_gpus or total, out)

    def drain(self, node: str, reason: str) -> None:
        """Cordon, taint, say why. What runs there goes on; a cordon of others is kept in mind."""
        seen = self._look(node)
        self._change_node(node, seen.version, _build_drain_patch(reason, seen))
        if parse_reason_incident(reason) in seen.conditions:
            return
        try:
            self._set_condition(node, _build_condition(reason))
        except SchedulerRefused:
            # No half of a drain stays for which nobody answers.
            seen = self._look(node)
            self._change_node(node, seen.version, _build_undrain_patch(reason, seen))
            raise

    def undrain(self, node: str, reason: str, _earlier: str) -> None:
        """Take back what our annotation stands for; a cordon that was there before stays."""
        seen = self._look(node)
        _check_ours(seen, reason)
        # While the annotation stands the condition is that of no other incident.
        if parse_reason_incident(reason) in seen.conditions:
            self._set_condition(node, {"type": CONDITION, "$patch": "delete"})
            seen = self._look(node)
        self._change_node(node, seen.version, _build_undrain_patch(reason, seen))

    def _change_node(self, node: str, version: str, change: Json | None) -> None:
        """Merge ``change`` into the node, if it still has the resource version that was looked at.

        Raises :class:`SchedulerAway` (409) where it is another by now.
        """
        if change is None:
            return
        metadata = {**change.get("metadata", {}), "resourceVersion": version}
        body = {**change, "metadata": metadata}
        self._ask("patch_node", node, body, _content_type=MERGE)

    def _look(self, node: str) -> _Node:
        return _parse_node(self._ask("read_node", check_node_name(node)))

    def _set_condition(self, node: str, condition: Json) -> None:
        """Set the one condition of this type; the others are other writers'."""
        body = {"status": {"conditions": [condition]}}
        self._ask("patch_node_status", node, body, _content_type=STRATEGIC)

    def _iterate_nodes(self) -> Iterator[Json]:
        """All nodes, page by page."""
        more: dict[str, object] = {}
        for _ in range(MAX_PAGES):
            page = self._ask("list_node", limit=PAGE, **more)
            yield from _iterate_objects(page.get("items"))
            token = _get_child(page, "metadata").get("continue")
            if not token:
                return
            more = {"_continue": token}
        raise SchedulerRefused(f"the list of nodes has more than {MAX_PAGES * PAGE:,} entries")

    def _ask(self, method: str, *args: object, **options: object) -> Json:
        """What the server answers; the node's name is the first of ``args``.

        Raises :class:`SchedulerAway`, :class:`SchedulerRefused`, :class:`Conflicted` or
        :class:`NotThere`.
        """
        try:
            response = getattr(self.core, method)(
                *args, _preload_content=False, _request_timeout=self.timeout_s, **options
            )
            try:
                raw = response.read(MAX_ANSWER + 1)
            finally:
                response.release_conn()
        except (OpenApiException, HTTPError, HTTPException, OSError) as error:
            # What a request that is cut in the middle raises varies by where.
            raise self._convert_error(error, *args) from error
        if len(raw) > MAX_ANSWER:
            raise SchedulerRefused(f"the answer is larger than {MAX_ANSWER:,} bytes")
        answer = _parse_json(raw)
        if not isinstance(answer, dict):
            raise SchedulerAway("the answer is no JSON object: is this an API server?")
        return answer

    def _convert_error(self, error: Exception, node: object = "", *_: object) -> TriageError:
        """What an error of the client says of the act."""
        status = getattr(error, "status", None)
        if status == 404 and node:
            return NotThere(f"Kubernetes knows no node {node}")
        if status:
            why = f"{status}: {_read_message(getattr(error, 'body', None)) or 'no words'}"
            return (SchedulerAway if status in LATER or status >= 500 else SchedulerRefused)(why)
        words = format_one_line(str(error))[:200] or type(error).__name__
        return SchedulerAway(f"no answer within {self.timeout_s:g} s: {words}")


def _parse_node(found: Json) -> _Node:
    """What there is to know of a node; an annotation that is not ours is no drain of ours."""
    metadata, spec = _get_child(found, "metadata"), _get_child(found, "spec")
    annotations = _get_child(metadata, "annotations")
    text = annotations.get(DRAIN)
    marks = _parse_json(text) if isinstance(text, str) and len(text) <= MAX_MARKS else None
    marks = marks if isinstance(marks, dict) else {}
    reason = marks.get("reason")
    incident = parse_reason_incident(reason) if isinstance(reason, str) else None
    taints = list(_iterate_objects(spec.get("taints")))
    others = [one for one in taints if one.get("key") != TAINT]
    conditions = {}
    for one in _iterate_objects(_get_child(found, "status").get("conditions")):
        of = parse_reason_incident(str(one.get("message")))
        if one.get("type") == CONDITION and of is not None:
            conditions[of] = parse_scheduler_time(one.get("lastTransitionTime"))
    return _Node(
        name=str(metadata.get("name")),
        version=str(metadata.get("resourceVersion") or ""),
        cordoned=spec.get("unschedulable") is True,
        tainted=len(others) < len(taints),
        other_taints=others,
        incident=incident,
        reason=format_one_line(str(reason))[:300],
        cordoned_before=_get_child(marks, "before").get("unschedulable") is True,
        quarantined=annotations.get(SENTINEL_CORDONED) == "True",
        conditions=conditions,
    )


def _build_drain_patch(reason: str, seen: _Node) -> Json | None:
    """What drains this node; None when it is drained so already."""
    _check_ours(seen, reason)
    ours, before = reason, seen.cordoned
    if seen.incident is not None:
        if seen.cordoned and seen.tainted:
            return None
        ours, before = seen.reason, seen.cordoned_before
    taint = {"key": TAINT, "value": _parse_category(reason), "effect": "NoSchedule"}
    marks = {"reason": ours, "before": {"unschedulable": before}}
    return {
        "metadata": {"annotations": {DRAIN: json.dumps(marks, separators=(",", ":"))}},
        "spec": {"unschedulable": True, "taints": [*seen.other_taints, taint]},
    }


def _build_undrain_patch(reason: str, seen: _Node) -> Json | None:
    """What takes our drain back; None where our annotation does not stand."""
    _check_ours(seen, reason)
    if seen.incident is None:
        return None
    spec: dict[str, Any] = {"taints": seen.other_taints or None}
    if not (seen.cordoned_before or seen.quarantined):
        spec["unschedulable"] = None
    return {"metadata": {"annotations": {DRAIN: None}}, "spec": spec}


def _check_ours(seen: _Node, reason: str) -> None:
    """Raises :class:`SchedulerRefused` where another incident of ours holds the node."""
    incident = parse_reason_incident(reason)
    if incident is None:
        raise SchedulerRefused(f"{format_one_line(reason)[:80]!r} is no reason of ours")
    if seen.incident not in (None, incident):
        raise SchedulerRefused(f"the node is drained for another incident: {seen.reason}")


def describe_foreign_cordon(seen: Json) -> tuple[str, str]:
    """Why a node is cordoned that is not drained by us, and by whom, as far as it says so."""
    metadata = _get_child(seen, "metadata")
    if SENTINEL in _get_child(metadata, "annotations"):
        return "quarantined for a health event", "NVSentinel"
    writers = [
        one
        for one in _iterate_objects(metadata.get("managedFields"))
        if "f:unschedulable" in _get_child(one, "fieldsV1", "f:spec")
    ]
    last = max(writers, key=lambda one: str(one.get("time") or ""), default={})
    at = f" at {format_one_line(str(last['time']))[:40]}" if last.get("time") else ""
    return f"cordoned{at}", format_one_line(str(last.get("manager") or ""))[:100]


def _build_condition(reason: str) -> Json:
    now = format_iso_utc(read_utc_now().replace(microsecond=0))
    return {
        "type": CONDITION,
        "status": "True",
        "reason": "".join(word.capitalize() for word in _parse_category(reason).split("_")),
        "message": reason,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _parse_category(reason: str) -> str:
    parts = reason.split(":")
    return parts[2] if len(parts) > 2 else "unknown"


def _parse_json(text: object) -> Any:  # noqa: ANN401 - what JSON can hold
    """The value of a JSON text; None for what is none."""
    try:
        return json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None


def _read_message(body: object) -> str:
    """The message of a ``Status`` object, or the beginning of other words."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")
    status = _parse_json(text)
    if isinstance(status, dict) and isinstance(status.get("message"), str):
        text = status["message"]
    return format_one_line(text)[:300]


def _iterate_objects(value: object) -> Iterator[Json]:
    """The objects of a list; nothing for what is no list."""
    return (one for one in (value if isinstance(value, list) else ()) if isinstance(one, dict))


def _get_child(parent: Json, *keys: str) -> Json:
    """The object under the keys; an empty one where there is none."""
    for key in keys:
        value = parent.get(key)
        parent = value if isinstance(value, dict) else {}
    return parent


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
