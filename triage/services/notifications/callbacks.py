"""Callbacks: who may be told of one incident because its hook asked for it.

A hook comes with a token that reads nothing, and a callback is told everything. So it goes only
to hosts that the operator has listed, signed, and is listed with the other receivers.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy.orm import Session

from triage.domain.failure_match import Failure, IgnoredField
from triage.errors import Unprocessable
from triage.notify.guard import Guard, parse_url
from triage.notify.message import DEFAULT_EVENTS
from triage.services.context import Context
from triage.settings import Settings
from triage.store.access import audit
from triage.store.messages import subscriptions
from triage.store.messages.subscriptions import NewSubscription

_FIELD: Final = "callback_url"


def with_allowed_callback(ctx: Context, failure: Failure) -> Failure:
    """The failure, without its callback where that may not be: an alarm is not lost for it."""
    if failure.callback_url is None:
        return failure
    why = _explain_refusal(ctx.settings, failure.callback_url)
    if why is None:
        return failure
    ignored = (*failure.ignored, IgnoredField(_FIELD, why))
    return replace(failure, callback_url=None, ignored=ignored)


def make_callback_guard(settings: Settings) -> Guard:
    """The hosts that callbacks may go to. Raises :class:`UsageError` for an entry that is none."""
    return Guard(settings.callback_allow, setting="TRIAGE_CALLBACK_ALLOW")


def _explain_refusal(settings: Settings, url: str) -> str | None:
    """Why no callback goes to this address; None where it may."""
    if not settings.callback_secret:
        return "callbacks are signed, and TRIAGE_CALLBACK_SECRET is not set"
    try:
        if not make_callback_guard(settings).lists(url, where=f"body/{_FIELD}"):
            return "its host is not in TRIAGE_CALLBACK_ALLOW"
        Guard(settings.webhook_allow).check(url, where=f"body/{_FIELD}")
    except Unprocessable as refusal:
        return refusal.detail
    return None


def add_callback(
    session: Session, settings: Settings, incident_id: str, failure: Failure, now: datetime
) -> None:
    """Tell the address of a failure of its incident alone; said again, it stays as it was."""
    new = NewSubscription(
        f"sub_{incident_id}",
        "generic",
        failure.callback_url or "",
        None,
        [settings.callback_secret] if settings.callback_secret else [],
        [str(event) for event in DEFAULT_EVENTS],
        incident_id,
        failure.caller.key_id,
    )
    if subscriptions.find(session, new.id) is None:
        subscriptions.add(session, new, now)
        detail = {"incident_id": incident_id, "host": str(parse_url(new.url).host)}
        audit.note(session, failure.caller.key_id or "local", "callback", new.id, now, detail)
