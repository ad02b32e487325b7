"""CloudEvents 1.0: one event as JSON, several as a list, or one with its context in headers."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.errors import BadRequest, Place, Unprocessable, Unsupported
from triage.services.hooks.notices import Notices
from triage.services.hooks.nvsentinel import read_health_notices

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
