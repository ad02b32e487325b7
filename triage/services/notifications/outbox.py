"""The outbox: messages are written in the transaction that makes what they tell of.

Storms: beyond so many messages a minute, what is new to a receiver is told together.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy.orm import Session

from triage.domain.report import Answer
from triage.domain.states import WorkKind
from triage.domain.wire import format_iso_utc
from triage.notify.headline import add_answer
from triage.notify.message import Event, Kind, Message, Request, Target, derive_message_id
from triage.notify.registry import Notice, get_receiver, render, render_notice
from triage.services.context import Context
from triage.settings import Settings
from triage.store.incidents import incidents, revisions
from triage.store.messages import deliveries, subscriptions
from triage.store.views import (
    DeliveryView,
    IncidentView,
    NewDelivery,
    SubscriptionView,
)
from triage.store.work import table as work

if TYPE_CHECKING:
    from models import Revision


def tell(
    session: Session,
    settings: Settings,
    incident_id: str,
    event: Event,
    now: datetime,
    previous: Answer | None = None,
) -> None:
    """Write a message to everybody who wants to know.

    ``previous`` is the answer before, for receivers that keep a state.
    """
    wanting = subscriptions.list_by_event(session, str(event), incident_id)
    incident = incidents.find(session, incident_id)
    if not wanting or incident is None:
        return
    message = make_message(
        incident, revisions.find_newest(session, incident_id), settings, event, now, previous
    )
    for one in wanting:
        target = Target(Kind(one.kind), one.url, one.routing_key)
        request = render(message, target)
        if request is None or add_to_storm(session, settings, one, incident_id, now):
            continue
        message_id = _make_identity(incident, event, one.id, now)
        write_message(
            session, message_id, one.id, event, request, now,
            incident_id=incident_id, revision=incident.revision,
        )  # fmt: skip


def tell_deleted(
    session: Session, settings: Settings, incident: IncidentView, now: datetime
) -> None:
    """Tell everybody who was sent something of an incident, and who asked, that it is deleted.

    The message outlives the incident, so it is of none.
    """
    receivers = set(deliveries.list_receivers(session, incident.id))
    subscriptions.keep_callbacks(session, incident.id)
    message = replace(
        make_message(incident, None, settings, Event.DELETED, now),
        state="deleted", url="", reason=None, resolution=None, problem=None,
    )  # fmt: skip
    for one in subscriptions.list_active(session):
        if one.id not in receivers and str(Event.DELETED) not in one.events:
            continue
        request = render(message, Target(Kind(one.kind), one.url, one.routing_key))
        if request is None:
            continue
        message_id = derive_message_id(incident.id, incident.revision, Event.DELETED, one.id)
        revision = incident.revision
        write_message(session, message_id, one.id, Event.DELETED, request, now, revision=revision)


def write_message(
    session: Session,
    message_id: str,
    subscription_id: str,
    event: Event,
    request: Request,
    now: datetime,
    *,
    incident_id: str | None = None,
    revision: int = 0,
) -> None:
    """Keep a message to one receiver, and the work of sending it."""
    new = NewDelivery(
        message_id, subscription_id, incident_id, revision, str(event),
        request.method, request.url, request.headers, request.body,
    )  # fmt: skip
    deliveries.add(session, new, now)
    work.enqueue(session, WorkKind.NOTIFY, subscription_id, now)


def _make_identity(
    incident: IncidentView, event: Event, subscription_id: str, now: datetime
) -> str:
    """One message for each revision and event; each resolution is one of its own."""
    if event is Event.RESOLVED:
        subscription_id = f"{subscription_id}/{now.isoformat()}"
    return derive_message_id(incident.id, incident.revision, event, subscription_id)


def make_message(
    incident: IncidentView,
    newest: "Revision | None",
    settings: Settings,
    event: Event,
    now: datetime,
    previous: Answer | None = None,
) -> Message:
    """What ``event`` says of an incident whose newest answer is ``newest``."""
    message = Message(
        event=event,
        at=now,
        incident_id=incident.id,
        job_id=incident.job_id,
        cluster=incident.cluster,
        revision=incident.revision,
        provisional=incident.provisional,
        state=str(incident.state),
        url=f"{settings.public_url.rstrip('/')}/incidents/{incident.id}",
        reason=incident.reason,
        resolution=None if incident.resolution is None else incident.resolution.to_dict(),
        problem=incident.problem,
        previous_verdict=None if previous is None else previous.verdict,
        previous_suspects=() if previous is None else previous.suspects,
    )
    return message if newest is None else add_answer(message, newest.reported())


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
