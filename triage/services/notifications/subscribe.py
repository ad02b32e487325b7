"""Receivers: subscribed, removed, and sent a message once more."""

from collections.abc import Callable, Iterable

from sqlalchemy.orm import Session

from triage.clock import utc_now
from triage.domain.states import WorkKind
from triage.errors import Conflict, NotFound
from triage.notify.guard import Guard
from triage.notify.message import check_events
from triage.notify.registry import Target, check_takes
from triage.notify.signing import check_secret, new_secret
from triage.services.context import Context
from triage.store.access import audit
from triage.store.database.ids import new_id
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.subscriptions import NewSubscription
from triage.store.views import DeliveryView, SubscriptionView
from triage.store.work import table as work

__all__ = ["resend", "subscribe", "unsubscribe"]


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
    secrets = (check_secret(secret),) if secret else (new_secret(),)
    Guard(ctx.settings.webhook_allow).check(target.url)
    now = utc_now()
    new = NewSubscription(
        new_id("sub", now),
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
    now = utc_now()
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
    now = utc_now()
    with ctx.database.writing() as session:
        found = deliveries.send_again(session, delivery_id, now)
        if found is None:
            raise NotFound(
                "there is no such delivery",
                hint="GET /v1/subscriptions/{id}/deliveries lists them",
            )
        receiving = subscriptions.find(session, found.subscription_id)
        if receiving is not None and receiving.disabled_at is not None:
            raise Conflict(
                "the receiver has answered 410: it wants no more",
                hint="subscribe it again, if it does",
            )
        work.enqueue(session, WorkKind.NOTIFY, found.subscription_id, now)
        audit.note(session, actor, "resend", delivery_id, now)
        if also is not None:
            also(session, found)
    return found
