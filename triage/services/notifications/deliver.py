"""Messages go out: one receiver at a time, the oldest first, until each has arrived."""

import time
from datetime import datetime, timedelta
from typing import Final

import structlog

from triage.clock import utc_now
from triage.domain.states import DeliveryState
from triage.notify import schedule
from triage.notify.deliver import Attempt, send
from triage.notify.guard import Guard
from triage.notify.registry import receiver
from triage.notify.request import Kind, Request
from triage.notify.signing import sign
from triage.queue.claim import Claim
from triage.services.context import Context
from triage.store.messages import deliveries, subscriptions
from triage.store.views import DeliveryView, SubscriptionView

__all__ = ["deliver"]

log = structlog.get_logger(__name__)
# One receiver keeps a worker at most so long; the rest of its messages come next time.
BUDGET_S: Final = 20.0
SUPERSEDED: Final = "not sent: a later message of the incident says more"


def deliver(ctx: Context, guard: Guard, claim: Claim) -> None:
    """Send what is due to the receiver of one subscription."""
    subscription_id = claim.rows[0].key
    ends_at = time.monotonic() + BUDGET_S
    while True:
        with ctx.database.reading() as session:
            receiving = subscriptions.find(session, subscription_id)
            not_before = subscriptions.not_before(session, subscription_id)
            waiting = deliveries.pending(session, subscription_id)
        if receiving is None or receiving.disabled_at is not None or not waiting:
            return
        now = utc_now()
        state = schedule.ReceiverState(
            failing=receiving.failing_since is not None,
            tried_at=max((d.tried_at for d in waiting if d.tried_at), default=None),
            not_before=not_before,
        )
        by_number = dict(enumerate(waiting))
        pending = [
            schedule.Pending(number, d.created_at, d.tried_at, d.next_at or now)
            for number, d in by_number.items()
        ]
        due = schedule.due(pending, state, now)
        if not due:
            again_at = min(
                schedule.due_at(one, state, now, oldest=one.delivery_id == 0) for one in pending
            )
            claim.finish(again_at)
            return
        if time.monotonic() > ends_at:
            claim.finish(again_at=now)
            return
        one = by_number[due[0].delivery_id]
        if receiver(Kind(receiving.kind)).latest_only and superseded(one, waiting):
            drop(ctx, one)
        else:
            attempt_one(ctx, guard, receiving, one)


def superseded(one: DeliveryView, waiting: list[DeliveryView]) -> bool:
    return any(
        other.incident_id is not None
        and other.incident_id == one.incident_id
        and other.created_at > one.created_at
        for other in waiting
    )


def drop(ctx: Context, one: DeliveryView) -> None:
    with ctx.database.writing() as session:
        deliveries.record(
            session,
            one.id,
            state=DeliveryState.FAILED,
            next_at=None,
            status=None,
            error=SUPERSEDED,
            latency_ms=0,
            tried_at=utc_now(),
            now=utc_now(),
        )


def attempt_one(ctx: Context, guard: Guard, receiving: SubscriptionView, one: DeliveryView) -> None:
    """One try, written down whatever becomes of it."""
    signed = receiver(Kind(receiving.kind)).signed and receiving.secrets
    headers = sign(receiving.secrets, one.id, utc_now(), one.body) if signed else {}
    if not signed and receiver(Kind(receiving.kind)).signed:
        headers = {"webhook-id": one.id, "webhook-timestamp": str(int(utc_now().timestamp()))}
    began = utc_now()
    request = Request(one.method, one.url, {**one.headers, **headers}, one.body)
    attempt = send(request, guard, timeout_s=ctx.settings.webhook_timeout_s)
    log.info(
        "message sent" if attempt.ok else "message not taken",
        delivery_id=one.id, subscription_id=receiving.id, status=attempt.status,
        error=attempt.error, latency_ms=attempt.latency_ms,
    )  # fmt: skip
    now = utc_now()
    with ctx.database.writing() as session:
        state, next_at = outcome(attempt, one, now)
        deliveries.record(
            session,
            one.id,
            state=state,
            next_at=next_at,
            status=attempt.status,
            error=attempt.error,
            latency_ms=attempt.latency_ms,
            tried_at=began,
            now=now,
        )
        if attempt.ok:
            subscriptions.set_failing(session, receiving.id, None, None)
            if receiving.failing_since is not None:
                deliveries.all_due(session, receiving.id, now)
        elif attempt.gone:
            subscriptions.disable(session, receiving.id, "the receiver answered 410", now)
            deliveries.give_up_all(session, receiving.id, "the receiver answered 410")
        elif attempt.receiver_failed:
            wait_s = attempt.retry_after_s
            until = None if wait_s is None else now + timedelta(seconds=min(wait_s, 86_400.0))
            subscriptions.set_failing(session, receiving.id, now, until)


def outcome(
    attempt: Attempt, one: DeliveryView, now: datetime
) -> tuple[DeliveryState, datetime | None]:
    if attempt.ok:
        return DeliveryState.DELIVERED, None
    next_at = schedule.next_try(
        one.attempts + 1, now, attempt.retry_after_s, one.created_at, message_id=one.id
    )
    return (DeliveryState.PENDING, next_at) if next_at else (DeliveryState.FAILED, None)
