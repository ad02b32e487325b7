"""The signed link of a proposal: whoever holds it may decide, until the proposal expires.

A link shows a page and decides nothing by itself: programs that fetch links for previews press
no button. It is bound to the act, its verb, its node and its end.
"""

import base64
import hashlib
import hmac
import json
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from triage.actions.store.acts import NodeActView
from triage.domain.acting import ActionState
from triage.settings import Settings
from triage.store.database.sealing import get_sealer

_PURPOSE: Final = "triage approve act 1"
_DIGITS: Final = 12


def make_decide_url(session: Session, settings: Settings, one: NodeActView) -> str:
    """The page on which an act is decided while it waits, where the service has a key to sign
    the link; else that of its incident.
    """
    base = settings.public_url.rstrip("/")
    keys = get_sealer(session).keys_for(_PURPOSE)
    if one.state is not ActionState.PROPOSED or one.expires_at is None or not keys:
        return f"{base}/incidents/{one.incident_id}"
    until = _compute_expiry(one)
    query = urlencode({"until": until, "proof": _compute_signature(keys[0], one, until)})
    return f"{base}/actions/{one.id}/decide?{query}"


def is_signed(session: Session, one: NodeActView, until: str, proof: str, now: datetime) -> bool:
    """Whether a link is one of ours for this act, and has not ended.

    A proposal that was made anew has a link of its own, and the one before is none any more.
    """
    if not (until.isascii() and until.isdigit() and len(until) <= _DIGITS):
        return False
    if one.state is ActionState.PROPOSED and until != _compute_expiry(one):
        return False
    if int(until) <= now.timestamp():  # as a number: digits may say a year that no date has
        return False
    offered = proof.encode("utf-8", "replace")
    found = [
        hmac.compare_digest(_compute_signature(key, one, until).encode(), offered)
        for key in get_sealer(session).keys_for(_PURPOSE)
    ]
    return any(found)


def _compute_expiry(one: NodeActView) -> str:
    return "" if one.expires_at is None else str(int(one.expires_at.timestamp()))


def _compute_signature(key: bytes, one: NodeActView, until: str) -> str:
    said = json.dumps([one.id, str(one.verb), one.node, until]).encode()
    return base64.urlsafe_b64encode(hmac.digest(key, said, hashlib.sha256)).decode().rstrip("=")
