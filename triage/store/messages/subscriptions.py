"""Receivers of messages: who is told of what.

Address, routing key and secrets are sealed in the rows
(:mod:`triage.store.database.sealing`). A receiver whose seal no key opens is off, and is on
again with its key.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, or_, select, tuple_, update
from sqlalchemy.orm import Session

from models import Subscription
from triage.store.database.sealing import get_sealer
from triage.store.views import SubscriptionView, make_view

UNOPENED: Final = (
    "its address and secrets were sealed by a key that is not known here: give that key back"
    " (TRIAGE_SECRET_KEY, or secret.key in the data directory), or subscribe it again"
)


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
        sealer = get_sealer(session)
        sealed = {
            "url": sealer.seal(new.url),
            "routing_key": None if new.routing_key is None else sealer.seal(new.routing_key),
            "secrets": [sealer.seal(secret) for secret in new.secrets],
        }
        row = Subscription(**{**asdict(new), **sealed, "events": list(new.events)}, created_at=now)
        session.add(row)
        session.flush()
    return view(session, row)


def find(session: Session, subscription_id: str) -> SubscriptionView | None:
    """One receiver; None where there is none of this id."""
    row = session.get(Subscription, subscription_id)
    return None if row is None else view(session, row)


def list_subscriptions(
    session: Session, *, after: tuple[datetime, str] | None = None, limit: int | None = None
) -> list[SubscriptionView]:
    """All receivers, oldest first; callbacks of one incident are among them.

    ``after`` is the last row already seen.
    """
    query = select(Subscription).order_by(Subscription.created_at, Subscription.id).limit(limit)
    if after is not None:
        query = query.where(tuple_(Subscription.created_at, Subscription.id) > after)
    return [view(session, row) for row in session.scalars(query)]


def list_callbacks(session: Session, key_id: str) -> list[str]:
    """The ids of the callbacks that a token has asked for."""
    rows = select(Subscription.id).where(
        Subscription.key_id == key_id, Subscription.incident_id.is_not(None)
    )
    return list(session.scalars(rows.order_by(Subscription.id)))


def list_by_event(
    session: Session, event: str, incident_id: str | None = None
) -> list[SubscriptionView]:
    """Who is told of this event, of this incident where it is of one."""
    of_it = or_(Subscription.incident_id.is_(None), Subscription.incident_id == incident_id)
    found = list_active(session, of_it)
    return [one for one in found if event in one.events and one.disabled_at is None]


def list_active(session: Session, *conditions: ColumnElement[bool]) -> list[SubscriptionView]:
    """Who is sent anything at all."""
    query = select(Subscription).where(Subscription.disabled_at.is_(None), *conditions)
    rows = session.scalars(query.order_by(Subscription.created_at, Subscription.id))
    return [view(session, row) for row in rows]


def keep_callbacks(session: Session, incident_id: str) -> None:
    """The callbacks of an incident that goes: they stay for one last message, of nothing else."""
    session.execute(
        update(Subscription)
        .where(Subscription.incident_id == incident_id)
        .values(incident_id=None, events=[])
        .execution_options(synchronize_session=False)
    )


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


def view(session: Session, row: Subscription) -> SubscriptionView:
    """A receiver with what was sealed of it; one whose seal no key opens is off."""
    sealer = get_sealer(session)
    opened = [sealer.open(value) for value in (row.url, row.routing_key or "", *row.secrets)]
    url, routing_key, *secrets = [value or "" for value in opened]
    off = {} if None not in opened else {
        "disabled_at": row.disabled_at or row.created_at, "disabled_why": UNOPENED,
    }  # fmt: skip
    return make_view(
        SubscriptionView,
        row,
        **off,
        url=url,
        routing_key=routing_key or None,
        secrets=tuple(secrets),
        events=tuple(row.events),
    )
