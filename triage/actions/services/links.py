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

from triage.actions.store.actions import NodeActView
from triage.domain.acting import ActionState
from triage.settings import Settings
from triage.store.database.sealing import sealer_of

__all__ = ["is_signed", "page_of", "query_of"]

PURPOSE: Final = "triage approve act 1"
DIGITS: Final = 12


def page_of(session: Session, settings: Settings, one: NodeActView) -> str:
    """The page of an act: with its signature while it waits, where the service has a key."""
    base = settings.public_url.rstrip("/")
    query = query_of(session, one)
    return f"{base}/actions/{one.id}" + (f"/decide?{query}" if query else "")


def query_of(session: Session, one: NodeActView) -> str:
    """What signs the link; empty for an act that is decided, and for a service without a key."""
    keys = sealer_of(session).keys_for(PURPOSE)
    if one.state is not ActionState.PROPOSED or one.expires_at is None or not keys:
        return ""
    until = end_of(one)
    return urlencode({"until": until, "proof": signature(keys[0], one, until)})


def is_signed(session: Session, one: NodeActView, until: str, proof: str, now: datetime) -> bool:
    """Whether a link is one of ours for this act, and has not ended.

    A proposal that was made anew has a link of its own, and the one before is none any more.
    """
    if not (until.isascii() and until.isdigit() and len(until) <= DIGITS):
        return False
    if one.state is ActionState.PROPOSED and until != end_of(one):
        return False
    if int(until) <= now.timestamp():  # as a number: digits may say a year that no date has
        return False
    offered = proof.encode("utf-8", "replace")
    found = [
        hmac.compare_digest(signature(key, one, until).encode(), offered)
        for key in sealer_of(session).keys_for(PURPOSE)
    ]
    return any(found)


def end_of(one: NodeActView) -> str:
    return "" if one.expires_at is None else str(int(one.expires_at.timestamp()))


def signature(key: bytes, one: NodeActView, until: str) -> str:
    said = json.dumps([one.id, str(one.verb), one.node, until]).encode()
    return base64.urlsafe_b64encode(hmac.digest(key, said, hashlib.sha256)).decode().rstrip("=")
