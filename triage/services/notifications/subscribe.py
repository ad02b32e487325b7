"""Receivers: subscribed, removed, and sent a message once more.

Callbacks: who may be told of one incident because its hook asked for it.

A hook comes with a token that reads nothing, and a callback is told everything. So it goes only
to hosts that the operator has listed, signed, and is listed with the other receivers.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.failure_match import Failure, IgnoredField
from triage.domain.states import WorkKind
from triage.errors import Conflict, NotFound, Unprocessable
from triage.notify.guard import Guard, parse_url
from triage.notify.message import DEFAULT_EVENTS, Target, check_events
from triage.notify.registry import check_takes
from triage.notify.signing import check_secret, make_signing_secret
from triage.services.context import Context
from triage.settings import Settings
from triage.store.access import audit
from triage.store.database.ids import make_id
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.subscriptions import NewSubscription
from triage.store.views import DeliveryView, SubscriptionView
from triage.store.work import table as work


def subscribe(
    ctx: Context,
    target: Target,
    secret: str | None,
    events: Iterable[str] | None,
    actor: str,
    *,
    also: Callable[[Session, SubscriptionView], None] | None = None,
) -> SubscriptionView:
    """One more receiver, as :func:`triage.notify.registry.validate` gives it.

    Its secret is in the answer and is not shown again. ``also`` is called in the same
    transaction. Raises :class:`Unprocessable` for what cannot be, or must not be called.
    """
    wanted = list(events or ())
    named = check_events(wanted)
    check_takes(target.kind, wanted)
    secrets = (check_secret(secret),) if secret else (make_signing_secret(),)
    Guard(ctx.settings.webhook_allow).check(target.url)
    now = read_utc_now()
    new = NewSubscription(
        make_id("sub", now),
        str(target.kind),
        target.url,
        target.routing_key,
        secrets,
        [str(event) for event in named],
        key_id=actor,
    )
    with ctx.database.writing() as session:
        found = subscriptions.add(session, new, now)
        audit.note(session, actor, "subscribe", found.id, now, {"kind": str(target.kind)})
        ctx.fleet.subscribed(session, ctx.settings, now)
        if also is not None:
            also(session, found)
    return found


def unsubscribe(ctx: Context, subscription_id: str, actor: str) -> None:
    """No more messages; what was not sent yet is dropped. Raises :class:`NotFound`."""
    now = read_utc_now()
    with ctx.database.writing() as session:
        if not subscriptions.remove(session, subscription_id):
            raise NotFound("there is no such subscription", hint="GET /v1/subscriptions lists them")
        audit.note(session, actor, "unsubscribe", subscription_id, now)


def resend(
    ctx: Context,
    delivery_id: str,
    actor: str,
    *,
    also: Callable[[Session, DeliveryView], None] | None = None,
) -> DeliveryView:
    """The same message, with the same id, once more and at once.

    ``also`` is called in the same transaction.
    Raises :class:`NotFound`, and :class:`Conflict` where the receiver said it is gone.
    """
    now = read_utc_now()
    with ctx.database.writing() as session:
        found = deliveries.send_again(session, delivery_id, now)
        if found is None:
            raise NotFound(
                "there is no such delivery",
                hint="GET /v1/subscriptions/{id}/deliveries lists them",
            )
        if found.body == deliveries.ERASED.encode():
            raise Conflict(
                "what this message said was erased on request",
                hint="the newest message of the incident says what is left",
            )
        receiving = subscriptions.find(session, found.subscription_id)
        if receiving is not None and receiving.disabled_at is not None:
            raise Conflict(
                f"the receiver is off: {receiving.disabled_why}",
                hint="subscribe it again, if it wants more",
            )
        work.enqueue(session, WorkKind.NOTIFY, found.subscription_id, now)
        audit.note(session, actor, "resend", delivery_id, now)
        if also is not None:
            also(session, found)
    return found


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
