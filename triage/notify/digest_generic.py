"""Generic: the digest of a week as the native webhook has it, signed as every message is."""

from triage.domain.wire import format_iso_utc
from triage.notify.digest import Digest
from triage.notify.generic import build_webhook_request
from triage.notify.message import Event
from triage.notify.request import Request, Target


def render(digest: Digest, target: Target) -> Request:
    """``{type, timestamp, data}``; ``data`` holds the sentences and the figures behind them."""
    data = {
        "week": digest.week,
        "since": format_iso_utc(digest.since),
        "until": format_iso_utc(digest.until),
        "headline": digest.headline,
        "sentences": list(digest.sentences),
        "notes": list(digest.notes),
        **digest.data,
        "url": digest.url,
    }
    return build_webhook_request(target, Event.FLEET_DIGEST, digest.until, data)
