"""Generic: the native webhook, a thin body as Standard Webhooks has it.

Every event of a subscription is sent, also that a job was healthy. The values are those of
the API, character for character; the bytes hold no control character, no angle bracket
and no at sign, which JSON may write as escapes.
"""

import re

from triage.domain.report import iso_utc
from triage.notify.message import Message
from triage.notify.request import JSON, Request, Target
from triage.render.data.wire import encode_line

__all__ = ["inactive", "render"]

# All four occur inside JSON strings only, and never as part of an escape.
_ACTIVE = re.compile(rb"[<>&@]")


def render(message: Message, target: Target) -> Request:
    """``{type, timestamp, data}``; it is signed when it is sent."""
    value = {
        "type": str(message.event),
        "timestamp": iso_utc(message.at),
        "data": {
            "incident_id": message.incident_id,
            "job_id": message.job_id,
            "revision": message.revision,
            "provisional": message.provisional,
            "state": message.state,
            "verdict": None if message.verdict is None else dict(message.verdict),
            "suspects": [dict(suspect) for suspect in message.suspects],
            "url": message.url,
        },
    }
    return Request("POST", target.url, JSON, inactive(encode_line(value).rstrip(b"\n")))


def inactive(body: bytes) -> bytes:
    """The same JSON without a character that begins markup or a mention."""
    return _ACTIVE.sub(lambda found: b"\\u%04x" % ord(found[0]), body)
