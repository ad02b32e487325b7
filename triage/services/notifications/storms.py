"""Storms: beyond so many messages a minute, what is new to a receiver is told together."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from triage.domain.states import WorkKind
from triage.domain.wire import format_iso_utc
from triage.notify.message import Event, Kind, Target, derive_message_id
from triage.notify.notice import Notice, render_notice
from triage.notify.registry import get_receiver
from triage.services.context import Context
from triage.settings import Settings
from triage.store.messages import deliveries
from triage.store.views import DeliveryView, NewDelivery, SubscriptionView
from triage.store.work import table as work

_MINUTE: Final = timedelta(minutes=1)
_MOST_NAMED: Final = 50


def add_to_storm(
    session: Session,
    settings: Settings,
    receiving: SubscriptionView,
    incident_id: str,
    now: datetime,
) -> bool:
    """Whether this incident is told with others instead of by itself.

    It is when the receiver has not heard of it and has been told of enough in a minute; then
    the message that tells of them all is owed in a minute's time.
    """
    if get_receiver(Kind(receiving.kind)).each:
        return False
    if receiving.incident_id is not None or deliveries.was_sent_to(
        session, receiving.id, incident_id
    ):
        return False
    if deliveries.count_since(session, receiving.id, now - _MINUTE) < settings.messages_per_minute:
        return False
    if deliveries.is_storm_pending(session, receiving.id, now):
        return True
    at = now + _MINUTE
    minute = int(now.timestamp()) // 60
    new = NewDelivery(
        derive_message_id("storm", minute, Event.STORM, receiving.id),
        receiving.id, None, 0, str(Event.STORM), "POST", receiving.url, {}, b"",
    )  # fmt: skip
    deliveries.add(session, new, now, due_at=at)
    work.enqueue(session, WorkKind.NOTIFY, receiving.id, now, not_before=at)
    return True


def written(ctx: Context, receiving: SubscriptionView, one: DeliveryView) -> DeliveryView:
    """The message of a storm with its body, which it gets once, before its first try."""
    with ctx.database.writing() as session:
        until = one.next_at or one.created_at + _MINUTE
        number, newest = deliveries.list_unsent(session, receiving.id, one.created_at, _MOST_NAMED)
        since, url = (
            format_iso_utc(one.created_at),
            f"{ctx.settings.public_url.rstrip('/')}/incidents",
        )
        keys = ("incident_id", "job_id", "summary")
        storm = Notice(
            Event.STORM,
            until,
            f"{number} more incidents since {since}, told as one",
            tuple(f"{incident}, job {job}: {summary}" for incident, job, summary in newest),
            {
                "since": since,
                "num_incidents": number,
                "incidents": [dict(zip(keys, row, strict=True)) for row in newest],
                "url": url,
            },
            url,
            page="the incidents",
        )
        target = Target(Kind(receiving.kind), receiving.url, receiving.routing_key)
        request = render_notice(storm, target)
        assert request is not None  # every kind that is told of storms takes them
        deliveries.write_body(session, one.id, request.url, request.headers, request.body)
    return replace(one, url=request.url, headers=dict(request.headers), body=request.body)
