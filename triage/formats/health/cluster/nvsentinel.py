"""NVSentinel's health events: bare, as CloudEvents, in lists, or one a line.

::

    {"specversion": "1.0", "type": "com.nvidia.nvsentinel.health.v1", "data": {"healthEvent": {
       "checkName": "SysLogsXIDError", "isFatal": true, "isHealthy": false,
       "message": "GPU has fallen off the bus", "recommendedAction": "RESTART_BM",
       "errorCode": ["79"],
       "entitiesImpacted": [{"entityType": "PCI", "entityValue": "0000:6d:00"}],
       "generatedTimestamp": "2026-03-14T02:40:59Z", "nodeName": "gpu-n02"}}}

A healthy event clears what was told before, and accuses nobody. What is not fatal warns. An
event of our own that comes back is listed as skipped: it is our conclusion, and no evidence.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.own_events import is_own_event
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import complaint_of, gpu_part
from triage.formats.health.json_report import documents_of, moment, text_in
from triage.formats.health.reading import Reading, check_name

__all__ = ["NVSENTINEL"]

CLAIM: Final = re.compile(r'"healthEvent"\s{0,20}:|"isHealthy"\s{0,20}:')
CHECK: Final = re.compile(r'"checkName"\s{0,20}:|"entitiesImpacted"\s{0,20}:')
# What stands around events: CloudEvents, answers of its database and of its API.
AROUND: Final = ("data", "healthEvent", "healthevent", "events", "items", "healthEvents")
MAX_DEPTH: Final = 6
# Actions by number, where a program prints no name of them.
NO_ACTION: Final = frozenset({"NONE", "0"})
GPU_ENTITIES: Final = ("PCI", "GPU_UUID", "GPU")


def claimed(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    return begins and CLAIM.search(head) is not None and CHECK.search(head) is not None


def read(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for event in events_in(document, 0):
            if reading.full:
                return
            of_event(event, reading)


def events_in(value: object, depth: int) -> Iterator[Mapping[str, Any]]:
    """The health events in a document, in their order."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from events_in(item, depth + 1)
    elif isinstance(value, Mapping):
        if "checkName" in value and ("isHealthy" in value or "isFatal" in value):
            yield value
            return
        for name in AROUND:
            if name in value:
                yield from events_in(value[name], depth + 1)


def of_event(event: Mapping[str, Any], reading: Reading) -> None:
    """One event: a result for each GPU that it names, else one of the node."""
    codes = event.get("errorCode")
    listed = codes if isinstance(codes, list) else [codes]
    code_texts = tuple(str(code)[:64] for code in listed[:8] if isinstance(code, str | int))
    message = text_in(event, "message")
    name = text_in(event, "checkName")
    complaint = complaint_of(f"{message} {name}", code_texts)
    outcome = Outcome.SKIPPED if is_own_event(event) else outcome_of(event)
    if complaint.follows and outcome is Outcome.FAIL:
        outcome = Outcome.WARN
    for part in parts_of(event) or [complaint.gpu]:
        reading.add(
            check_name("nvsentinel", name),
            outcome,
            part=part,
            node=text_in(event, "nodeName")[:256] or None,
            detail="; ".join(
                said for said in (" ".join(code_texts), message, action_of(event)) if said
            ),
            category=complaint.category or of_component(event),
            at=moment(text_in(event, "generatedTimestamp")),
            line=1,
        )


def outcome_of(event: Mapping[str, Any]) -> Outcome:
    if event.get("isHealthy") is True:
        return Outcome.PASS
    fatal = event.get("isFatal") is True
    asked = text_in(event, "recommendedAction").upper() not in NO_ACTION
    return Outcome.FAIL if fatal and asked else Outcome.WARN


def action_of(event: Mapping[str, Any]) -> str:
    action = text_in(event, "recommendedAction")
    return f"recommended action {action}" if action else ""


def of_component(event: Mapping[str, Any]) -> Category | None:
    """What the class of the component says, where the words name no part."""
    component = text_in(event, "componentClass").lower()
    known = {
        "gpu": Category.GPU, "nvswitch": Category.NVLINK, "nic": Category.NIC,
        "cpu": Category.CPU, "network": Category.NETWORK,
    }  # fmt: skip
    return known.get(component)


def parts_of(event: Mapping[str, Any]) -> list[str | None]:
    """The GPUs that an event names: by address, else by uuid, else by number."""
    found: dict[str, list[str | None]] = {}
    entities = event.get("entitiesImpacted")
    for entity in entities[:256] if isinstance(entities, list) else ():
        if isinstance(entity, Mapping):
            part = gpu_part(text_in(entity, "entityValue"))
            if part is not None:
                found.setdefault(text_in(entity, "entityType").upper(), []).append(part)
    return next((found[kind] for kind in GPU_ENTITIES if kind in found), [])


NVSENTINEL: Final = CheckFormat(
    "nvsentinel", claimed, read, lines=False, words=('"healthEvent"', '"isHealthy"')
)
