"""Who wants to be told."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from models import Subscription
from triage.store.views import SubscriptionView

__all__ = [
    "add", "disable", "find", "listing", "not_before", "of_event", "remove", "set_failing",
    "wanting",
]  # fmt: skip


def add(
    session: Session,
    subscription_id: str,
    *,
    kind: str,
    url: str,
    routing_key: str | None,
    secrets: Sequence[str],
    events: Sequence[str],
    now: datetime,
    incident_id: str | None = None,
) -> SubscriptionView:
    """One more receiver; the same id again changes nothing."""
    row = session.get(Subscription, subscription_id)
    if row is None:
        row = Subscription(
            id=subscription_id, kind=kind, url=url, routing_key=routing_key,
            secrets=list(secrets), events=list(events), incident_id=incident_id, created_at=now,
        )  # fmt: skip
        session.add(row)
        session.flush()
    return view(row)


def find(session: Session, subscription_id: str) -> SubscriptionView | None:
    """One receiver; None where there is none of this id."""
    row = session.get(Subscription, subscription_id)
    return None if row is None else view(row)


def listing(session: Session) -> list[SubscriptionView]:
    """All that were subscribed, oldest first; callbacks of one incident are not among them."""
    rows = session.scalars(
        select(Subscription)
        .where(Subscription.incident_id.is_(None))
        .order_by(Subscription.created_at, Subscription.id)
    )
    return [view(row) for row in rows]


def wanting(session: Session, incident_id: str, event: str) -> list[SubscriptionView]:
    """Who is told of this event of this incident."""
    rows = session.scalars(
        select(Subscription)
        .where(Subscription.disabled_at.is_(None))
        .where(or_(Subscription.incident_id.is_(None), Subscription.incident_id == incident_id))
        .order_by(Subscription.created_at, Subscription.id)
    )
    return [view(row) for row in rows if event in row.events]


def of_event(session: Session, event: str) -> list[SubscriptionView]:
    """Who is told of this event, where it is of no incident."""
    rows = session.scalars(
        select(Subscription)
        .where(Subscription.disabled_at.is_(None), Subscription.incident_id.is_(None))
        .order_by(Subscription.created_at, Subscription.id)
    )
    return [view(row) for row in rows if event in row.events]


def remove(session: Session, subscription_id: str) -> bool:
    """End a subscription and its messages; False where there is none of this id."""
    row = session.get(Subscription, subscription_id)
    if row is None:
        return False
    session.delete(row)
    return True


def disable(session: Session, subscription_id: str, why: str, now: datetime) -> None:
    """The receiver said that it is gone."""
    row = session.get_one(Subscription, subscription_id)
    row.disabled_at, row.disabled_why = now, why


def set_failing(
    session: Session, subscription_id: str, since: datetime | None, not_before: datetime | None
) -> None:
    """Whether its receiver answers, and before when it asked not to be called."""
    row = session.get(Subscription, subscription_id)
    if row is not None:
        row.failing_since = None if since is None else (row.failing_since or since)
        row.not_before = not_before


def not_before(session: Session, subscription_id: str) -> datetime | None:
    """Before when its receiver asked not to be called."""
    row = session.get(Subscription, subscription_id)
    return None if row is None else row.not_before


def view(row: Subscription) -> SubscriptionView:
    return SubscriptionView(
        row.id, row.kind, row.url, row.routing_key, tuple(row.secrets), tuple(row.events),
        row.incident_id, row.created_at, row.disabled_at, row.disabled_why, row.failing_since,
    )  # fmt: skip
