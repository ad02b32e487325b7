"""Generic: the digest of a week as the native webhook has it, signed as every message is."""

from triage.domain.report import iso_utc
from triage.notify.digest import Digest
from triage.notify.generic import inactive
from triage.notify.message import Event
from triage.notify.request import JSON, Request, Target
from triage.render.data.wire import encode_line

__all__ = ["render"]


def render(digest: Digest, target: Target) -> Request:
    """``{type, timestamp, data}``; ``data`` holds the sentences and the figures behind them."""
    value = {
        "type": str(Event.FLEET_DIGEST),
        "timestamp": iso_utc(digest.until),
        "data": {
            "week": digest.week,
            "since": iso_utc(digest.since),
            "until": iso_utc(digest.until),
            "headline": digest.headline,
            "sentences": list(digest.sentences),
            "notes": list(digest.notes),
            **digest.data,
            "url": digest.url,
        },
    }
    return Request("POST", target.url, JSON, inactive(encode_line(value).rstrip(b"\n")))
