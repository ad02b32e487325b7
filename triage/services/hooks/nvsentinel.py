"""NVSentinel's health events: what its monitors saw on a node, as the lines they saw.

``{"nodeName": "gpu-7", "checkName": "SysLogsXIDError", "errorCode": ["79"], "isFatal": true,
"isHealthy": false, "message": "...", "generatedTimestamp": "...",
"entitiesImpacted": [{"entityType": "PCI", "entityValue": "0000:17:00.0"}]}``
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from triage.render.words.clean import one_line
from triage.services.hooks.job_failed import name_in
from triage.services.hooks.notices import Line, Notices
from triage.services.hooks.times import moment

__all__ = ["health_notices"]

MAX_TEXT: Final = 4000
MAX_CODES: Final = 64
# "79" of the monitor of system logs, "XID_79" of others; DCGM's codes are words.
XID: Final = re.compile(r"(?:XID[_ -]?)?([0-9]{1,5})", re.IGNORECASE | re.ASCII)
BUS: Final = re.compile(
    r"(?:PCI:)?((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)", re.ASCII
)
ALREADY_A_LINE: Final = re.compile(r"\bS?Xid ?\(", re.IGNORECASE)
# SysLogsSXIDError; not SysLogsXIDError, which holds the same letters in lower case.
SWITCH: Final = re.compile("SX[Ii][Dd]|NV[Ss][Ww]")


def health_notices(event: Mapping[str, Any], health: Mapping[str, Any]) -> Notices:
    """One line for each error code, or the message as it stands."""
    found = Notices()
    ref = str(event["id"])[:200]
    node = name_in(health.get("nodeName"))
    if node is None:
        found.ignore(ref, "the health event names no node")
    elif health.get("isHealthy") is True:
        found.ignore(ref, "it says that the node is healthy")
    else:
        at = moment(health.get("generatedTimestamp")) or moment(event.get("time"))
        for text in texts_of(health):
            found.lines.append(Line(node, text, at, "nvsentinel", ref))
        if not found.lines:
            found.ignore(ref, "it says neither a message nor an error code")
    return found


def texts_of(health: Mapping[str, Any]) -> list[str]:
    message = health.get("message")
    said = one_line(message)[:MAX_TEXT] if isinstance(message, str) else ""
    if ALREADY_A_LINE.search(said):
        return [said]
    check = str(health.get("checkName") or "")
    codes = xid_codes(health, check)
    bus = bus_of(health)
    if codes and bus is not None:
        return [f"NVRM: Xid (PCI:{bus}): {code}, {said or check}" for code in codes]
    return [text] if (text := said or one_line(check)[:MAX_TEXT]) else []


def xid_codes(health: Mapping[str, Any], check: str) -> list[str]:
    """The Xids among the error codes; a switch's codes are numbers too, and are none."""
    codes = health.get("errorCode")
    if not isinstance(codes, list) or SWITCH.search(check):
        return []
    matches = (XID.fullmatch(str(code)) for code in codes[:MAX_CODES])
    return list(dict.fromkeys(match[1] for match in matches if match))


def bus_of(health: Mapping[str, Any]) -> str | None:
    entities = health.get("entitiesImpacted")
    for entity in entities if isinstance(entities, list) else ():
        if isinstance(entity, Mapping) and str(entity.get("entityType", "")).upper().startswith(
            "PCI"
        ):
            match = BUS.fullmatch(str(entity.get("entityValue", "")))
            if match:
                return match[1]
    return None
