"""CloudEvents 1.0: one health event for each convicted node, as NVSentinel words them.

Only nodes of ``cordon`` are told of: those whose hardware is believed to be the cause. An event
says ``isHealthy: true`` when a later answer takes the conviction back, or a person found that it
was something else. A resolution that confirms the node says nothing: it is as bad as before.

``processingStrategy`` is ``STORE_ONLY``: an event informs, and no machine acts on it by itself.

Sources: CloudEvents 1.0.2, JSON format and HTTP binding;
https://github.com/NVIDIA/NVSentinel/blob/main/data-models/protobufs/health_event.proto
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import orjson

from triage.domain.category import HARDWARE, Action, Category
from triage.domain.own_events import AGENT, CHECK, SOURCE
from triage.domain.report import Suspect, Verdict
from triage.domain.wire import format_iso_utc
from triage.notify.headline import is_healthy
from triage.notify.message import Event, Message, Request, Target
from triage.notify.safe_text import find_web_link, format_plain

STRUCTURED: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
_HEALTH: Final = "internal.nccl-triage.health.v1"

RECOMMENDED: Final[Mapping[Category, str]] = MappingProxyType(
    dict.fromkeys(HARDWARE, "CONTACT_SUPPORT")
    | dict.fromkeys((Category.GPU, Category.GPU_GSP), "RESTART_BM")
    | dict.fromkeys((Category.GPU_HBM, Category.GPU_SRAM, Category.NVLINK), "COMPONENT_RESET")
    | {Category.SDC: "RUN_DCGMEUD"}
)
"""NVSentinel's action for each of our hardware categories; an action of the answer itself
(``reset_gpu``, ``reboot_node``) is more exact, and comes first."""
_OF_ACTION: Final[Mapping[str, str]] = MappingProxyType(
    {Action.RESET_GPU: "COMPONENT_RESET", Action.REBOOT_NODE: "RESTART_BM"}
)
_OF_GPUS: Final = frozenset(
    {
        Category.GPU, Category.GPU_HBM, Category.GPU_SRAM, Category.GPU_GSP,
        Category.GPU_THERMAL, Category.NVLINK, Category.SDC,
    }
)  # fmt: skip
_ANSWERS: Final = frozenset({Event.PROVISIONAL, Event.READY, Event.REVISED, Event.RESOLVED})
_CLASSES: Final = {Category.NIC: "NIC", Category.NETWORK: "Network", Category.CPU: "CPU"}


def render(message: Message, target: Target) -> Request | None:
    """The events of one message; None where no node is convicted or taken back."""
    if message.event not in _ANSWERS:
        return None
    now = _map_convicted_nodes(message.verdict, message.suspects)
    before = _map_convicted_nodes(message.previous_verdict, message.previous_suspects)
    standing, ended = message.split_standing(now, before)
    found = message.resolution or {}
    resolved = message.event is Event.RESOLVED and found.get("category") in HARDWARE
    # The node whose hardware a person found to be the cause is as bad as before.
    confirmed = {found.get("node")} if resolved else set()
    events = [
        _build_cloud_event(message, node, one, healthy=healthy)
        for healthy, nodes in ((False, standing), (True, ended))
        for node, one in nodes.items()
        if node not in confirmed
    ]
    if not events:
        return None
    media, body = (STRUCTURED, events[0]) if len(events) == 1 else (BATCH, events)
    return Request("POST", target.url, {"content-type": media}, orjson.dumps(body))


def _map_convicted_nodes(
    verdict: Verdict | None, suspects: tuple[Suspect, ...]
) -> dict[str, Suspect]:
    """The convicted nodes of an answer, in its order."""
    if verdict is None or is_healthy(verdict):
        return {}
    found: dict[str, Suspect] = {}
    for one in suspects:
        if one.node is not None and one.node in verdict.cordon and one.category in HARDWARE:
            found.setdefault(one.node, one)
    return found


def _build_cloud_event(
    message: Message, node: str, one: Suspect, *, healthy: bool
) -> dict[str, object]:
    """One CloudEvent."""
    moment = format_iso_utc(message.at) or ""
    metadata = {
        "incident": message.incident_id,
        "job": message.job_id,
        "cluster": message.cluster or "",
        "category": one.category,
        "confidence": f"{one.score:.2f}",
        "url": find_web_link(message.url) or "",
    }
    health: dict[str, object] = {
        "version": 1,
        "agent": AGENT,
        "componentClass": "GPU" if one.category in _OF_GPUS else _CLASSES.get(one.category, "Node"),
        "checkName": CHECK,
        "isFatal": not healthy,
        "isHealthy": healthy,
        "message": format_plain(_compose_event_message(message, one, healthy=healthy), 1000),
        "recommendedAction": "NONE" if healthy else _choose_recommended_action(message, one),
        "errorCode": [] if healthy else [format_plain(one.category, 64)],
        "entitiesImpacted": [
            {"entityType": "PCI", "entityValue": format_plain(gpu, 64)} for gpu in one.gpus
        ],
        "metadata": {key: format_plain(value, 256) for key, value in metadata.items() if value},
        "generatedTimestamp": moment,
        "nodeName": format_plain(node, 256),
        "processingStrategy": "STORE_ONLY",
    }
    state = "healthy" if healthy else "unhealthy"
    return {
        "specversion": "1.0",
        "id": format_plain(
            f"{message.incident_id}/{message.revision}/{message.event}/{node}/{state}", 512
        ),
        "source": SOURCE,
        "type": _HEALTH,
        "subject": format_plain(node, 256),
        "time": moment,
        "datacontenttype": "application/json",
        "data": {"healthEvent": health},
    }


def _compose_event_message(message: Message, one: Suspect, *, healthy: bool) -> str:
    if healthy and message.event is Event.RESOLVED:
        return "a person resolved the incident, and did not find this node to be the cause"
    if healthy:
        return "a later answer does not convict this node"
    reason = f": {one.because[0].text}" if one.because else ""
    return f"stopped job {message.job_id} by {one.category} ({one.score:.2f}){reason}"


def _choose_recommended_action(message: Message, one: Suspect) -> str:
    """NVSentinel's action for a suspect."""
    verdict = message.verdict
    if verdict is not None and verdict.category == one.category and verdict.action in _OF_ACTION:
        return _OF_ACTION[verdict.action]
    return RECOMMENDED[one.category]
