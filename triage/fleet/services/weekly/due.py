"""When the digest of a week is due, and whom it is owed to."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, get_args

from sqlalchemy.orm import Session

from triage.notify.digest import digest_id
from triage.notify.message import Event
from triage.settings import Settings, Weekday
from triage.store.messages import deliveries, subscriptions
from triage.store.views import SubscriptionView
from triage.store.work.clockwork import enqueue_by

DIGEST: Final = "digest"
WEEK: Final = timedelta(days=7)
_WEEKDAYS: Final = get_args(Weekday)


def due_before(now: datetime, settings: Settings) -> datetime:
    """When the last week ended: the settings' weekday and hour in UTC, at or before ``now``."""
    end = now.replace(hour=settings.digest_hour_utc, minute=0, second=0, microsecond=0)
    end -= timedelta(days=(end.weekday() - _WEEKDAYS.index(settings.digest_weekday)) % 7)
    return end if end <= now else end - WEEK


def week_of(end: datetime) -> str:
    """The name of the week that ends then."""
    return end.date().isoformat()


def enqueue_digest(session: Session, settings: Settings, now: datetime) -> bool:
    """Put the next digest in line where somebody wants one; whether something was put there."""
    if not _wanting(session):
        return False
    end = due_before(now, settings)
    return enqueue_by(session, DIGEST, now if subscriptions_due(session, end) else end + WEEK, now)


def subscriptions_due(session: Session, end: datetime) -> list[SubscriptionView]:
    """Who wanted the digest of that week before it ended, and has not been told."""
    return [
        one
        for one in _wanting(session)
        if one.created_at <= end
        and deliveries.find(session, digest_id(week_of(end), one.id)) is None
    ]


def _wanting(session: Session) -> Sequence[SubscriptionView]:
    return subscriptions.of_event(session, str(Event.FLEET_DIGEST))
