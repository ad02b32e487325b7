"""Kubernetes: a drain is a cordon, a taint, a condition and an annotation; no pod is touched.

The node is cordoned, and the taint ``nccl-triage.internal/suspect=CATEGORY:NoSchedule`` says why
to everything that reads taints. The condition ``TriageSuspect`` ("True" is bad) shows it beside
the other conditions. The annotation ``nccl-triage.internal/drain`` holds our reason and what was
there before: by it, and by nothing else, a drain is known as ours. Domains that end in
``.internal`` belong to nobody by definition.

Cordon, taint and annotation are one change, which holds only for the version of the node that
was looked at. So of two actuators one acts, and the other finds it done.

A reboot is asked of NVSentinel's janitor, whose resource ``RebootNode`` it is. kured's
annotations are no way to ask: it writes them itself, and looks for a file on the node.
"""

import hashlib
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from triage.actions.names import NODE, OWN_REASON
from triage.actions.schedulers.interface import (
    NodeView,
    PoolView,
    SchedulerAway,
    SchedulerRefused,
    time_in,
)
from triage.actions.schedulers.kubernetes_api import (
    Conflicted,
    Json,
    KubernetesApi,
    NotThere,
    api_from,
    child,
    objects,
)
from triage.clock import utc_now
from triage.domain.own_events import CHECK
from triage.domain.report import iso_utc
from triage.render.words.clean import one_line
from triage.settings import Settings

__all__ = ["CONDITION", "DRAIN", "TAINT", "KubernetesScheduler", "others_of", "scheduler_from"]

TAINT: Final = "nccl-triage.internal/suspect"
DRAIN: Final = "nccl-triage.internal/drain"
CONDITION: Final = CHECK
TRIES: Final = 5
"""How often a change is tried that a writer of the same moment overtook."""
GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "huawei.com/Ascend910")
# https://github.com/NVIDIA/NVSentinel: what its quarantine leaves on a node that it cordoned.
SENTINEL: Final = "quarantineHealthEvent"
SENTINEL_CORDONED: Final = "quarantineHealthEventIsCordoned"


@dataclass(frozen=True, slots=True)
class Ours:
    """A drain of ours as the annotation tells it."""

    reason: str
    cordoned_before: bool

    @property
    def incident(self) -> str:
        """The incident it was for."""
        match = OWN_REASON.match(self.reason)
        return match["incident"] if match else ""


class KubernetesScheduler:
    """:class:`triage.actions.schedulers.interface.Scheduler` over one API server."""

    name = "kubernetes"

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api

    def node(self, node: str) -> NodeView:
        """How the node stands. ``busy``: pods run there that are no node's daemons."""
        try:
            found = self.api.node(checked(node))
        except NotThere:
            return NodeView(node, exists=False)
        except Conflicted as error:
            raise SchedulerAway(str(error)) from error
        ours = ours_of(found)
        cordoned = is_cordoned(found)
        busy, details = self._work_on(node)
        info = child(child(found, "status"), "nodeInfo")
        if isinstance(info.get("bootID"), str):
            # Another one after each boot, which is all that is asked of a time of booting.
            details["boot_time"] = info["bootID"]
        reason, by = (ours.reason, "triage") if ours else others_of(found) if cordoned else ("", "")
        return NodeView(
            node,
            exists=True,
            drained=cordoned or drained_by_us(found),
            reason=reason,
            by=by,
            busy=busy,
            details=details,
        )

    def pool(self) -> PoolView:
        """The nodes that have GPUs; where none says that it has, all."""
        total = with_gpus = 0
        out = {}
        for one in self.api.nodes():
            total += 1
            capacity = child(child(one, "status"), "capacity")
            with_gpus += any(str(capacity.get(key, "0")) != "0" for key in GPUS)
            if drained_by_us(one):
                out[str(child(one, "metadata").get("name"))] = suspected_since(one)
        return PoolView(with_gpus or total, out)

    def drain(self, node: str, reason: str) -> None:
        """Cordon, taint, say why. What runs there goes on; a cordon of others is kept in mind."""
        found = self._ours_or_free(node, reason)
        self._change(node, found, lambda seen: drained_by(seen, reason))
        if any(is_ours_condition(one, reason) for one in conditions(found)):
            return
        try:
            self._tell(node, condition_of(reason))
        except SchedulerRefused:
            # No half of a drain stays for which nobody answers.
            self._change(
                node, self._again(node), lambda seen: undrained(seen, reason, keep_cordon=False)
            )
            raise

    def undrain(self, node: str, reason: str, before: NodeView | None) -> None:
        """Take back what our annotation stands for; a cordon that was there before stays."""
        found = self._ours_or_free(node, reason)
        keep = before is not None and before.drained
        # While the annotation stands the condition is that of no other incident.
        if any(is_ours_condition(one, reason) for one in conditions(found)):
            self._tell(node, {"type": CONDITION, "$patch": "delete"})
            found = self._again(node)
        self._change(node, found, lambda seen: undrained(seen, reason, keep_cordon=keep))

    def reboot(self, node: str, reason: str) -> None:
        """Ask NVSentinel's janitor, once nothing runs on the node. The same ask again is one."""
        self._ours_or_free(node, reason)
        busy, details = self._work_on(node)
        if "pods" in details:
            raise SchedulerRefused(f"whether work runs on the node is not known: {details['pods']}")
        if busy:
            raise SchedulerAway("pods still run on the node: the reboot waits for their end")
        try:
            self.api.ask_for_reboot(reboot_of(node, reason))
        except Conflicted:
            return
        except NotThere as error:
            raise SchedulerRefused(
                "this cluster has no RebootNode resource: install NVSentinel's janitor, or reboot"
                " the node by hand"
            ) from error

    def command(self, verb: str, node: str, reason: str) -> str:
        """The act by ``kubectl``; its marks are what this service knows a drain of its own by."""
        node = shlex.quote(node)
        category = reason.split(":")[2] if reason.count(":") > 1 else "unknown"
        if verb == "drain":
            marks = shlex.quote(f"{DRAIN}={marks_of(reason, cordoned_before=False)}")
            return (
                f"kubectl cordon {node} && kubectl taint --overwrite node {node}"
                f" {shlex.quote(f'{TAINT}={category}:NoSchedule')} && kubectl annotate --overwrite"
                f" node {node} {marks}"
            )
        if verb == "undrain":
            return (
                f"kubectl uncordon {node} && kubectl taint node {node} {TAINT}-"
                f" && kubectl annotate node {node} {DRAIN}-"
            )
        if verb == "reboot":
            body = shlex.quote(json.dumps(reboot_of(node, reason)))
            return f"echo {body} | kubectl create -f -"
        return f"# {verb} {node}: Kubernetes is not asked"

    def _ours_or_free(self, node: str, reason: str) -> Json:
        """The node, where no other incident of ours holds it."""
        found = self._again(checked(node))
        check_ours(found, reason)
        return found

    def _work_on(self, node: str) -> tuple[bool, dict[str, Any]]:
        try:
            return any(is_work(pod) for pod in self.api.pods_of(node)), {}
        except (SchedulerRefused, NotThere, Conflicted) as error:
            return False, {"pods": f"not listed: {error}"}

    def _change(self, node: str, found: Json, changed: Callable[[Json], Json | None]) -> None:
        """Make the change on the version that was looked at; look again where it is another."""
        for _ in range(TRIES):
            change = changed(found)
            if change is None:
                return
            version = str(child(found, "metadata").get("resourceVersion") or "")
            try:
                self.api.change_node(node, version, change)
            except NotThere as error:
                raise SchedulerRefused(f"Kubernetes knows no node {node}") from error
            except Conflicted:
                found = self._again(node)
            else:
                return
        raise SchedulerAway("others change the node at the same time")

    def _again(self, node: str) -> Json:
        try:
            return self.api.node(node)
        except NotThere as error:
            raise SchedulerRefused(f"Kubernetes knows no node {node}") from error
        except Conflicted as error:
            raise SchedulerAway(str(error)) from error

    def _tell(self, node: str, condition: Json) -> None:
        try:
            self.api.set_condition(node, condition)
        except Conflicted as error:
            raise SchedulerAway(str(error)) from error
        except NotThere as error:
            raise SchedulerRefused(f"Kubernetes knows no node {node}") from error


def drained_by(seen: Json, reason: str) -> Json | None:
    """What drains this node; None when it is drained so already."""
    check_ours(seen, reason)
    ours = ours_of(seen)
    if ours is not None and is_cordoned(seen) and tainted(seen):
        return None
    before = ours.cordoned_before if ours else is_cordoned(seen)
    taint = {"key": TAINT, "value": category_of(reason), "effect": "NoSchedule"}
    marks = marks_of(ours.reason if ours else reason, cordoned_before=before)
    return {
        "metadata": {"annotations": {DRAIN: marks}},
        "spec": {"unschedulable": True, "taints": [*other_taints(seen), taint]},
    }


def undrained(seen: Json, reason: str, *, keep_cordon: bool) -> Json | None:
    """What takes our drain back; None where our annotation does not stand."""
    check_ours(seen, reason)
    ours = ours_of(seen)
    if ours is None:
        return None
    spec: dict[str, Any] = {"taints": other_taints(seen) or None}
    annotations = child(child(seen, "metadata"), "annotations")
    if not (keep_cordon or ours.cordoned_before or annotations.get(SENTINEL_CORDONED) == "True"):
        spec["unschedulable"] = None
    return {"metadata": {"annotations": {DRAIN: None}}, "spec": spec}


def check_ours(seen: Json, reason: str) -> None:
    """Raises :class:`SchedulerRefused` where another incident of ours holds the node."""
    match = OWN_REASON.match(reason)
    if match is None:
        raise SchedulerRefused(f"{one_line(reason)[:80]!r} is no reason of ours")
    ours = ours_of(seen)
    if ours is not None and ours.incident != match["incident"]:
        raise SchedulerRefused(f"the node is drained for another incident: {ours.reason}")


def ours_of(seen: Json) -> Ours | None:
    """Our drain of the node, by the annotation; None for one that is not there or not ours."""
    text = child(child(seen, "metadata"), "annotations").get(DRAIN)
    if not isinstance(text, str) or len(text) > 2000:
        return None
    try:
        marks = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(marks, dict) or not isinstance(marks.get("reason"), str):
        return None
    if OWN_REASON.match(marks["reason"]) is None:
        return None
    before = child(marks, "before").get("unschedulable") is True
    return Ours(one_line(marks["reason"])[:300], cordoned_before=before)


def marks_of(reason: str, *, cordoned_before: bool) -> str:
    marks = {"reason": reason, "before": {"unschedulable": cordoned_before}}
    return json.dumps(marks, separators=(",", ":"))


def others_of(seen: Json) -> tuple[str, str]:
    """Why a node is cordoned that is not drained by us, and by whom, as far as it says so."""
    metadata = child(seen, "metadata")
    if SENTINEL in child(metadata, "annotations"):
        return "quarantined for a health event", "NVSentinel"
    writers = [
        one
        for one in objects(metadata.get("managedFields"))
        if "f:unschedulable" in child(child(one, "fieldsV1"), "f:spec")
    ]
    if not writers:
        return "cordoned", ""
    last = max(writers, key=lambda one: str(one.get("time") or ""))
    at = f" at {one_line(str(last['time']))[:40]}" if last.get("time") else ""
    return f"cordoned{at}", one_line(str(last.get("manager") or ""))[:100]


def condition_of(reason: str) -> Json:
    category = category_of(reason)
    now = iso_utc(utc_now().replace(microsecond=0))
    return {
        "type": CONDITION,
        "status": "True",
        "reason": "".join(word.capitalize() for word in category.split("_")),
        "message": reason,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def reboot_of(node: str, reason: str) -> dict[str, Any]:
    """The ask for one reboot; its name is the same for the same incident and node."""
    match = OWN_REASON.match(reason)
    said = json.dumps([node, match["incident"] if match else reason]).encode()
    return {
        "apiVersion": "janitor.dgxc.nvidia.com/v1alpha1",
        "kind": "RebootNode",
        "metadata": {
            "name": f"nccl-triage-{hashlib.sha256(said).hexdigest()[:20]}",
            "annotations": {"nccl-triage.internal/reason": reason},
        },
        "spec": {"nodeName": node},
    }


def category_of(reason: str) -> str:
    parts = reason.split(":")
    return parts[2] if len(parts) > 2 else "unknown"


def is_cordoned(seen: Json) -> bool:
    return child(seen, "spec").get("unschedulable") is True


def drained_by_us(seen: Json) -> bool:
    """Whether a drain with our annotation holds new pods off, by the cordon or by the taint."""
    return ours_of(seen) is not None and (is_cordoned(seen) or tainted(seen))


def suspected_since(seen: Json) -> datetime | None:
    """Since when our condition stands at the node."""
    times = (
        time_in(one.get("lastTransitionTime"))
        for one in conditions(seen)
        if one.get("type") == CONDITION and OWN_REASON.match(str(one.get("message")))
    )
    return next(times, None)


def tainted(seen: Json) -> bool:
    return len(other_taints(seen)) < len(list(objects(child(seen, "spec").get("taints"))))


def other_taints(seen: Json) -> list[Json]:
    return [one for one in objects(child(seen, "spec").get("taints")) if one.get("key") != TAINT]


def conditions(seen: Json) -> list[Json]:
    return list(objects(child(seen, "status").get("conditions")))


def is_ours_condition(condition: Json, reason: str) -> bool:
    """Whether it is the condition of this incident's drain."""
    told, asked = (OWN_REASON.match(text) for text in (str(condition.get("message")), reason))
    return condition.get("type") == CONDITION and bool(
        told and asked and told["incident"] == asked["incident"]
    )


def is_work(pod: Json) -> bool:
    """Whether the pod is work, and none of those that every node has."""
    metadata = child(pod, "metadata")
    if "kubernetes.io/config.mirror" in child(metadata, "annotations"):
        return False
    owners = objects(metadata.get("ownerReferences"))
    return not any(one.get("kind") in ("DaemonSet", "Node") for one in owners)


def checked(node: str) -> str:
    """Raises :class:`SchedulerRefused` for a name that no node has."""
    if NODE.fullmatch(node) is None:
        raise SchedulerRefused(f"{one_line(node)[:80]!r} is no node's name")
    return node


def scheduler_from(settings: Settings) -> KubernetesScheduler:
    """By ``TRIAGE_ACT_KUBECONFIG``, or the pod's own service account."""
    return KubernetesScheduler(api_from(settings.act_kubeconfig, timeout_s=settings.act_timeout_s))
