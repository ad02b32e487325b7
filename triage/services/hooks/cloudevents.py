"""CloudEvents 1.0: one event as JSON, several as a list, or one with its context in headers.

NVSentinel's health events: each is kept as it is, and read like a file of such events.

``{"nodeName": "gpu-7", "checkName": "SysLogsXIDError", "errorCode": ["79"], "isFatal": true,
"isHealthy": false, "message": "...", "generatedTimestamp": "...",
"entitiesImpacted": [{"entityType": "PCI", "entityValue": "0000:17:00.0"}]}``

So an event says the same by the hook as in a folder: one from before the stop can convict, one
that the stop brought about cannot, and one that is healthy takes back what was said before it.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from triage.domain.own_events import is_own_event
from triage.domain.patterns import compile_re
from triage.domain.wire import format_iso_utc
from triage.errors import BadRequest, Place, Unprocessable, Unsupported
from triage.services.hooks.job_failed import MAX_NAME, name_in
from triage.services.hooks.monitoring import AgentReport, Notices
from triage.services.hooks.times import parse_moment

_MAX_TEXT: Final = 4000
_MAX_ITEMS: Final = 256


def read_health_notices(event: Mapping[str, Any], health: Mapping[str, Any]) -> Notices:
    """The event as a report on its node, or why it is kept out."""
    found = Notices()
    ref = str(event["id"])[:200]
    node = name_in(health.get("nodeName"))
    if is_own_event(health):
        found.ignore(ref, "it is what this service said itself, and no evidence")
    elif node is None:
        found.ignore(ref, "the health event names no node")
    elif not (
        _get_text(health, "checkName") or _get_text(health, "message") or _list_codes(health)
    ):
        found.ignore(ref, "it says neither a check, a message nor an error code")
    else:
        at = parse_moment(health.get("generatedTimestamp")) or parse_moment(event.get("time"))
        body = _make_body(health, node, at)
        found.reports.append(AgentReport(node, body, at, "nvsentinel", ref, _summarize(health)))
    return found


def _summarize(health: Mapping[str, Any]) -> str:
    """One line, such as ``SysLogsXIDError 79 (fatal): GPU has fallen off the bus``."""
    subject = " ".join([_get_text(health, "checkName") or "unnamed", *_list_codes(health)[:8]])
    state = "fatal" if health.get("isFatal") is True else "not healthy"
    state = "healthy" if health.get("isHealthy") is True else state
    message = _get_text(health, "message")
    return f"{subject} ({state}): {message}" if message else f"{subject} ({state})"


def _make_body(health: Mapping[str, Any], node: str, at: datetime | None) -> bytes:
    """What the readers of files use of an event; the same event gives the same bytes."""
    entities = health.get("entitiesImpacted")
    kept: dict[str, object] = {
        key: _get_text(health, key)
        for key in ("agent", "componentClass", "checkName", "message", "recommendedAction")
    }
    kept |= {
        "checkName": kept["checkName"] or "unnamed",
        "isFatal": health.get("isFatal") is True,
        "isHealthy": health.get("isHealthy") is True,
        "errorCode": _list_codes(health),
        "entitiesImpacted": [
            {key: _get_text(one, key)[:MAX_NAME] for key in ("entityType", "entityValue")}
            for one in (entities[:_MAX_ITEMS] if isinstance(entities, list) else ())
            if isinstance(one, Mapping)
        ],
        "nodeName": node,
    }
    if at is not None:
        kept["generatedTimestamp"] = format_iso_utc(at)
    return json.dumps({"healthEvent": kept}).encode()


def _list_codes(health: Mapping[str, Any]) -> list[str]:
    codes = health.get("errorCode")
    listed = codes if isinstance(codes, list) else [codes]
    return [str(code)[:64] for code in listed[:_MAX_ITEMS] if _is_plain(code)]


def _get_text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return str(found)[:_MAX_TEXT] if _is_plain(found) else ""


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


STRUCTURED: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
_MAX_EVENTS: Final = 10_000
_REQUIRED: Final = ("id", "source", "type")
_JSON_TYPE: Final = compile_re(r"[\w.+-]+/(?:[\w.+-]+\+)?json", re.ASCII)

_Event = Mapping[str, Any]


def read_events(
    content_type: str, headers: Mapping[str, str], read: Callable[[], Any]
) -> list[_Event]:
    """The events of a request, in any of the three modes. ``read`` gives the body's JSON value.

    Raises :class:`Unprocessable` for what is no CloudEvent of version 1.
    """
    media = content_type.partition(";")[0].strip().lower()
    if "ce-specversion" in headers:
        if media and not _JSON_TYPE.fullmatch(media):
            raise Unsupported(
                f"event data of the type {media[:80]} is not read",
                hint="send application/json",
                places=(Place("header/Content-Type", "is not read"),),
            )
        context = {
            key.removeprefix("ce-"): value
            for key, value in headers.items()
            if key.startswith("ce-")
        }
        return [_check_event({**context, "data": read()}, "")]
    value = read()
    if isinstance(value, list):
        if len(value) > _MAX_EVENTS:
            why = f"at most {_MAX_EVENTS:,} events are read at once"
            raise Unprocessable(why, places=(Place("body", why),))
        return [_check_event(one, f"/{place}") for place, one in enumerate(value)]
    if media == BATCH:
        raise BadRequest(
            "a batch of CloudEvents is a JSON list",
            hint=f"send {STRUCTURED} for one",
            places=(Place("body", "is no list"),),
        )
    return [_check_event(value, "")]


def _check_event(event: object, place: str) -> _Event:
    if not isinstance(event, Mapping):
        raise Unprocessable(
            "a CloudEvent is a JSON object", places=(Place(f"body{place}", "is no object"),)
        )
    places = [
        Place(f"body{place}/{key}", "is missing, or no text")
        for key in _REQUIRED
        if not isinstance(event.get(key), str) or not event[key]
    ]
    if event.get("specversion") != "1.0":
        places.insert(0, Place(f"body{place}/specversion", 'is not "1.0"'))
    if places:
        raise Unprocessable(
            "this is no CloudEvent of version 1.0",
            hint="send specversion, id, source and type",
            places=tuple(places),
        )
    return event


def read_event_notices(event: _Event) -> Notices:
    """What an event comes down to; a type that nobody here reads is kept out."""
    data = event.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("healthEvent"), Mapping):
        return read_health_notices(event, data["healthEvent"])
    found = Notices()
    found.ignore(
        str(event["id"])[:200], f"events of the type {str(event['type'])[:80]} are not read"
    )
    return found
