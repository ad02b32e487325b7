"""The outbox: messages are written in the transaction that makes what they tell of."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from triage.domain.report import Answer
from triage.domain.states import WorkKind
from triage.notify.headline import collect_next_steps
from triage.notify.message import Event, Kind, Message, Request, Target, derive_message_id
from triage.notify.registry import render
from triage.services.notifications.storms import add_to_storm
from triage.settings import Settings
from triage.store.incidents import incidents, revisions
from triage.store.messages import deliveries, subscriptions
from triage.store.views import IncidentView, NewDelivery, RevisionView
from triage.store.work import table as work


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
    wanting = subscriptions.list_wanting(session, incident_id, str(event))
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
        state="deleted", url="", reason=None, resolution=None,
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
    newest: RevisionView | None,
    settings: Settings,
    event: Event,
    now: datetime,
    previous: Answer | None = None,
) -> Message:
    """What ``event`` says of an incident whose newest answer is ``newest``."""
    answer = None if newest is None else newest.reported()
    steps = None if answer is None else collect_next_steps(answer)
    base = settings.public_url.rstrip("/")
    return Message(
        event=event,
        at=now,
        incident_id=incident.id,
        job_id=incident.job_id,
        cluster=incident.cluster,
        revision=incident.revision,
        provisional=incident.provisional,
        state=str(incident.state),
        verdict=None if answer is None else answer.verdict,
        suspects=() if answer is None else answer.suspects,
        url=f"{base}/incidents/{incident.id}",
        actions=() if steps is None else steps.actions,
        coverage_text="" if steps is None else steps.coverage_text,
        reason=incident.reason,
        resolution=None if incident.resolution is None else incident.resolution.to_dict(),
        next_step="" if steps is None else steps.next_step,
        previous_verdict=None if previous is None else previous.verdict,
        previous_suspects=() if previous is None else previous.suspects,
        restart=None if answer is None else answer.restart,
        seen_first=() if steps is None else steps.seen_first,
    )
