"""Messages to receivers: written with the answer they tell of, sent until they arrive."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, exists, func, select, tuple_, update
from sqlalchemy.orm import Session

from models import Delivery, Incident, Job
from triage.domain.states import DeliveryState, IncidentState
from triage.store.database.sealing import get_sealer
from triage.store.database.upsert import insert_missing
from triage.store.views import DeliveryView, NewDelivery, make_view

ERASED: Final = "what this message said was erased on request"
# A message about a storm is made so long before the last incident that it names, at most.
_STORM: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One try to send a message, and what follows from it; the names are those of the columns."""

    state: DeliveryState
    next_at: datetime | None
    last_status: int | None
    last_error: str | None
    latency_ms: int
    tried_at: datetime


def add(
    session: Session, message: NewDelivery, now: datetime, *, due_at: datetime | None = None
) -> None:
    """One message, due now or at ``due_at``; the same id again changes nothing."""
    row = {field.name: getattr(message, field.name) for field in fields(message)}
    row |= {"state": str(DeliveryState.PENDING), "attempts": 0, "next_at": due_at or now}
    row["created_at"] = now
    sealer = get_sealer(session)
    # An address of Slack is a secret, and PagerDuty's key stands in the body.
    row |= {"url": sealer.seal(message.url), "body": sealer.seal_bytes(message.body)}
    insert_missing(session, Delivery, [{**row, "headers": dict(message.headers)}])


def find(session: Session, delivery_id: str) -> DeliveryView | None:
    """One message; None where there is none of this id."""
    row = session.get(Delivery, delivery_id)
    return None if row is None else view(session, row)


def list_by_subscription(
    session: Session,
    subscription_id: str,
    *,
    before: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> list[DeliveryView]:
    """Newest first; ``before`` is the last row already seen."""
    query = select(Delivery).where(Delivery.subscription_id == subscription_id)
    if before is not None:
        query = query.where(tuple_(Delivery.created_at, Delivery.id) < before)
    query = query.order_by(Delivery.created_at.desc(), Delivery.id.desc()).limit(limit)
    return [view(session, row) for row in session.scalars(query)]


def list_pending(session: Session, subscription_id: str, limit: int = 100) -> list[DeliveryView]:
    """What is not delivered yet, oldest first; without what was sealed by a key not known here."""
    rows = session.scalars(
        select(Delivery)
        .where(Delivery.subscription_id == subscription_id, Delivery.state == DeliveryState.PENDING)
        .order_by(Delivery.created_at, Delivery.revision, Delivery.id)
        .limit(limit)
    )
    sealer = get_sealer(session)
    return [view(session, row) for row in rows if sealer.open(row.url) is not None]


def was_sent_to(session: Session, subscription_id: str, incident_id: str) -> bool:
    """Whether this receiver was sent anything of this incident."""
    query = select(Delivery.id).where(
        Delivery.incident_id == incident_id, Delivery.subscription_id == subscription_id
    )
    return session.scalar(query.limit(1)) is not None


def count_since(session: Session, subscription_id: str, since: datetime) -> int:
    """How many messages of incidents were made for this receiver since then."""
    query = select(func.count()).where(
        Delivery.subscription_id == subscription_id,
        Delivery.created_at > since,
        Delivery.incident_id.is_not(None),
    )
    return session.scalar(query) or 0


def is_storm_pending(session: Session, subscription_id: str, now: datetime) -> bool:
    """Whether a message of a storm is owed to this receiver, and has no words yet."""
    query = select(Delivery.id).where(
        Delivery.subscription_id == subscription_id,
        Delivery.incident_id.is_(None),
        Delivery.state == DeliveryState.PENDING,
        Delivery.attempts == 0,
        Delivery.next_at > now,
    )
    return session.scalar(query.limit(1)) is not None


def list_unsent(
    session: Session, subscription_id: str, since: datetime, limit: int
) -> tuple[int, list[tuple[str, str, str]]]:
    """Incidents that ended since then and that this receiver was sent nothing of: how many, and
    (id, job, verdict's sentence) of the newest.
    """
    sent = exists().where(
        Delivery.incident_id == Incident.id, Delivery.subscription_id == subscription_id
    )
    query = (
        select(Incident.id, Job.job_id, Incident.verdict)
        .join(Job, Incident.job_fk == Job.id)
        .where(Incident.updated_at >= since, ~sent)
        .where(Incident.state.in_([str(IncidentState.READY), str(IncidentState.FAILED)]))
    )
    number = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    newest = session.execute(query.order_by(Incident.created_at.desc()).limit(limit))
    return number, [(key, job, (verdict or {}).get("summary", "")) for key, job, verdict in newest]


def forget_bodies(session: Session, incident_id: str, since: datetime) -> None:
    """What messages about an incident said of it goes; those not sent yet are not sent.

    A message about a storm names incidents in its body alone, and is none older than they are.
    """
    session.execute(
        update(Delivery)
        .where(Delivery.incident_id == incident_id, Delivery.state == DeliveryState.PENDING)
        .values(state=str(DeliveryState.FAILED), next_at=None, last_error=ERASED)
    )
    session.execute(
        update(Delivery).where(Delivery.incident_id == incident_id).values(body=ERASED.encode())
    )
    together = select(Delivery).where(
        Delivery.incident_id.is_(None), Delivery.created_at >= since - _STORM
    )
    sealer = get_sealer(session)
    for row in session.scalars(together):
        if incident_id.encode() in (sealer.open_bytes(row.body) or b""):
            row.body = ERASED.encode()
            if row.state == DeliveryState.PENDING:
                row.state, row.next_at, row.last_error = str(DeliveryState.FAILED), None, ERASED


def list_receivers(session: Session, incident_id: str) -> list[str]:
    """The receivers that were sent something of an incident."""
    query = select(Delivery.subscription_id).where(Delivery.incident_id == incident_id)
    return sorted(set(session.scalars(query)))


def write_body(
    session: Session, delivery_id: str, url: str, headers: Mapping[str, str], body: bytes
) -> None:
    """What a message says that was owed before its words were there."""
    sealer = get_sealer(session)
    session.execute(
        update(Delivery)
        .where(Delivery.id == delivery_id)
        .values(url=sealer.seal(url), headers=dict(headers), body=sealer.seal_bytes(body))
    )


def record(session: Session, delivery_id: str, attempt: DeliveryAttempt, now: datetime) -> None:
    """Write down one try to send a message."""
    row = session.get(Delivery, delivery_id)
    if row is None:
        return
    row.attempts += 1
    for field in fields(attempt):
        setattr(row, field.name, getattr(attempt, field.name))
    if attempt.state == DeliveryState.DELIVERED:
        row.delivered_at = now


def make_all_due(session: Session, subscription_id: str, now: datetime) -> None:
    """The receiver answers again: everything for it is due."""
    session.execute(
        update(Delivery)
        .where(
            Delivery.subscription_id == subscription_id,
            Delivery.state == DeliveryState.PENDING,
            Delivery.next_at > now,
            # What was never tried is a message of a storm, which waits for all that it tells of.
            Delivery.attempts > 0,
        )
        .values(next_at=now)
    )


def give_up_all(session: Session, subscription_id: str, why: str) -> None:
    """The receiver is gone: nothing more is sent to it."""
    session.execute(
        update(Delivery)
        .where(Delivery.subscription_id == subscription_id, Delivery.state == DeliveryState.PENDING)
        .values(state=str(DeliveryState.FAILED), next_at=None, last_error=why)
    )


def send_again(session: Session, delivery_id: str, now: datetime) -> DeliveryView | None:
    """Due at once, whatever became of it; the schedule begins from its start."""
    row = session.get(Delivery, delivery_id)
    if row is None:
        return None
    row.state, row.next_at, row.attempts = DeliveryState.PENDING, now, 0
    row.delivered_at = None
    session.flush()
    return view(session, row)


def prune_digests(session: Session, before: datetime) -> None:
    """Remove messages of no incident that are older; those of incidents go with them."""
    session.execute(
        delete(Delivery).where(
            Delivery.incident_id.is_(None),
            Delivery.created_at < before,
            Delivery.state != DeliveryState.PENDING,
        )
    )


def view(session: Session, row: Delivery) -> DeliveryView:
    """A message; its address and body are empty where no key opens them."""
    sealer = get_sealer(session)
    url, body = sealer.open(row.url), sealer.open_bytes(row.body)
    if url is None or body is None:
        url, body = "", b""
    return make_view(DeliveryView, row, state=DeliveryState(row.state), url=url, body=body)
