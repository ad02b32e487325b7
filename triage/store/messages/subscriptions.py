"""Receivers of messages: who is told of what."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from models import Subscription
from triage.store.views import SubscriptionView, view_of

__all__ = [
    "NewSubscription",
    "add",
    "disable",
    "find",
    "listing",
    "not_before",
    "of_event",
    "remove",
    "set_failing",
    "wanting",
]


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A receiver that is to be kept; with an ``incident_id`` it is told of that one alone."""

    id: str
    kind: str
    url: str
    routing_key: str | None
    secrets: Sequence[str]
    events: Sequence[str]
    incident_id: str | None = None
    key_id: str | None = None


def add(session: Session, new: NewSubscription, now: datetime) -> SubscriptionView:
    """One more receiver; the same id again changes nothing."""
    row = session.get(Subscription, new.id)
    if row is None:
        values = {field.name: getattr(new, field.name) for field in fields(new)}
        row = Subscription(**values, created_at=now)
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
    return view_of(SubscriptionView, row, secrets=tuple(row.secrets), events=tuple(row.events))
