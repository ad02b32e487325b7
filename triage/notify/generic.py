"""Generic: the native webhook, a thin body as Standard Webhooks has it.

Every event of a subscription is sent, also that a job was healthy. The values are those of
the API, character for character; the bytes hold no control character, no angle bracket
and no at sign, which JSON may write as escapes.
"""

from datetime import datetime

from triage.domain.patterns import compile_re
from triage.domain.wire import format_iso_utc
from triage.notify.message import JSON, Event, Message, Request, Target, Wire
from triage.render.data.wire import encode_line

# All four occur inside JSON strings only, and never as part of an escape.
_ACTIVE = compile_re(rb"[<>&@]")


def render(message: Message, target: Target) -> Request:
    """``{type, timestamp, data}``; it is signed when it is sent."""
    data = {
        "incident_id": message.incident_id,
        "job_id": message.job_id,
        "revision": message.revision,
        "provisional": message.provisional,
        "state": message.state,
        "verdict": None if message.verdict is None else message.verdict.to_dict(),
        "suspects": [suspect.to_dict() for suspect in message.suspects],
        "url": message.url,
    }
    if message.restart is not None:
        data["restart"] = message.restart.to_dict()
    if message.problem is not None:
        data["problem"] = message.problem.to_dict()
    return build_webhook_request(target, message.event, message.at, data)


def build_webhook_request(target: Target, event: Event, at: datetime, data: Wire) -> Request:
    """``{type, timestamp, data}`` without a character that begins markup or a mention."""
    value = {"type": str(event), "timestamp": format_iso_utc(at), "data": data}
    body = encode_line(value).rstrip(b"\n")
    inactive = _ACTIVE.sub(lambda match: b"\\u%04x" % ord(match[0]), body)
    return Request("POST", target.url, JSON, inactive)
