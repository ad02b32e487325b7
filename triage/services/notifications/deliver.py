"""Messages go out: one receiver at a time, the oldest first, until each has arrived."""

import time
from datetime import datetime, timedelta
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.states import DeliveryState
from triage.notify.deliver import (
    Attempt,
    ReceiverState,
    compute_due_times,
    schedule_next_try,
    send,
)
from triage.notify.guard import Guard
from triage.notify.message import Kind, Request
from triage.notify.registry import get_receiver
from triage.notify.signing import sign
from triage.queue.runner import Claim
from triage.services.context import Context
from triage.services.notifications.outbox import written
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.deliveries import DeliveryAttempt
from triage.store.views import DeliveryView, SubscriptionView

log = structlog.get_logger(__name__)
# Seconds that one receiver keeps a worker; the rest of its messages come next time.
_BUDGET_S: Final = 20.0
_SUPERSEDED: Final = "not sent: a later message of the incident says more"


def deliver(ctx: Context, guard: Guard, claim: Claim) -> None:
    """Send what is due to the receiver of one subscription."""
    subscription_id = claim.rows[0].key
    ends_at = time.monotonic() + _BUDGET_S
    while True:
        with ctx.database.reading() as session:
            receiving = subscriptions.find(session, subscription_id)
            waiting = deliveries.list_pending(session, subscription_id)
        if receiving is None or receiving.disabled_at is not None or not waiting:
            return
        now = read_utc_now()
        message, again_at = _choose_next(receiving, waiting, now)
        if message is None:
            claim.finish(again_at)
            return
        if time.monotonic() > ends_at:
            claim.finish(again_at=now)
            return
        if get_receiver(Kind(receiving.kind)).latest_only and _is_superseded(message, waiting):
            _drop(ctx, message)
        else:
            _try_delivery(ctx, guard, receiving, message)


def _choose_next(
    receiving: SubscriptionView, waiting: list[DeliveryView], now: datetime
) -> tuple[DeliveryView | None, datetime | None]:
    """The message that is sent next, None for none yet; then also when one is due."""
    state = ReceiverState(
        failing=receiving.failing_since is not None,
        tried_at=max((d.tried_at for d in waiting if d.tried_at), default=None),
        not_before=receiving.not_before,
    )
    due = compute_due_times([one.next_at or now for one in waiting], state, now)
    first = next((one for one, at in zip(waiting, due, strict=True) if at <= now), None)
    return first, None if first else min(due)


def _is_superseded(one: DeliveryView, waiting: list[DeliveryView]) -> bool:
    return any(
        other.incident_id is not None
        and other.incident_id == one.incident_id
        and other.created_at > one.created_at
        for other in waiting
    )


def _drop(ctx: Context, one: DeliveryView) -> None:
    dropped = DeliveryAttempt(DeliveryState.FAILED, None, None, _SUPERSEDED, 0, read_utc_now())
    with ctx.database.writing() as session:
        deliveries.record(session, one.id, dropped, read_utc_now())


def _try_delivery(
    ctx: Context, guard: Guard, receiving: SubscriptionView, one: DeliveryView
) -> None:
    """One try, written down whatever becomes of it."""
    if not one.body:
        one = written(ctx, receiving, one)
    signed = get_receiver(Kind(receiving.kind)).signed and receiving.secrets
    headers = sign(receiving.secrets, one.id, read_utc_now(), one.body) if signed else {}
    if not signed and get_receiver(Kind(receiving.kind)).signed:
        headers = {"webhook-id": one.id, "webhook-timestamp": str(int(read_utc_now().timestamp()))}
    began = read_utc_now()
    request = Request(one.method, one.url, {**one.headers, **headers}, one.body)
    attempt = send(request, guard, timeout_s=ctx.settings.webhook_timeout_s)
    log.info(
        "message sent" if attempt.ok else "message not taken",
        delivery_id=one.id,
        subscription_id=receiving.id,
        status=attempt.status,
        error=attempt.error,
        latency_ms=attempt.latency_ms,
    )
    now = read_utc_now()
    state, next_at = _classify_attempt(attempt, one, now)
    done = DeliveryAttempt(state, next_at, attempt.status, attempt.error, attempt.latency_ms, began)
    with ctx.database.writing() as session:
        deliveries.record(session, one.id, done, now)
        _note_receiver(session, receiving, attempt, now)


def _note_receiver(
    session: Session, receiving: SubscriptionView, attempt: Attempt, now: datetime
) -> None:
    """What an attempt says of the receiver: it answers, it is gone, or it fails."""
    if attempt.ok:
        subscriptions.set_failing(session, receiving.id, None, None)
        if receiving.failing_since is not None:
            deliveries.make_all_due(session, receiving.id, now)
    elif attempt.gone:
        subscriptions.disable(session, receiving.id, "the receiver answered 410", now)
        deliveries.give_up_all(session, receiving.id, "the receiver answered 410")
    elif attempt.receiver_failed:
        wait_s = attempt.retry_after_s
        until = None if wait_s is None else now + timedelta(seconds=min(wait_s, 86_400.0))
        subscriptions.set_failing(session, receiving.id, now, until)


def _classify_attempt(
    attempt: Attempt, one: DeliveryView, now: datetime
) -> tuple[DeliveryState, datetime | None]:
    if attempt.ok:
        return DeliveryState.DELIVERED, None
    next_at = schedule_next_try(
        one.attempts + 1, now, attempt.retry_after_s, one.created_at, message_id=one.id
    )
    return (DeliveryState.PENDING, next_at) if next_at else (DeliveryState.FAILED, None)
