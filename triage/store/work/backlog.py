"""What is owed and what was sent, as people look at it: the newest first, and how many."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from models import Artifact, Delivery, Incident, Subscription, Work
from triage.domain.states import DeliveryState, WorkState
from triage.store.messages import deliveries, subscriptions
from triage.store.views import DeliveryView, SubscriptionView
from triage.store.work.table import count_waiting


def list_newest_work(session: Session, limit: int = 100) -> list[Work]:
    """Work that is not done: what was given up first, then what runs, then what waits."""
    order = case({str(WorkState.QUARANTINED): 0, str(WorkState.RUNNING): 1}, value=Work.state)
    rows = session.scalars(
        select(Work)
        .where(Work.state != WorkState.DONE)
        .order_by(func.coalesce(order, 2), Work.not_before, Work.id)
        .limit(limit)
    )
    return list(rows)


def count_by_state(session: Session) -> Mapping[WorkState, int]:
    """How many rows stand where; done ones are not counted."""
    found = _count_column_by_state(session, Work.state, Work.state != WorkState.DONE)
    return {state: found.get(state, 0) for state in WorkState if state is not WorkState.DONE}


def list_messages(
    session: Session, limit: int = 100
) -> list[tuple[DeliveryView, SubscriptionView]]:
    """Messages with their receivers: those that failed or wait first, then the newest."""
    order = case(
        {str(DeliveryState.FAILED): 0, str(DeliveryState.PENDING): 0}, value=Delivery.state
    )
    rows = session.execute(
        select(Delivery, Subscription)
        .join(Subscription, Delivery.subscription_id == Subscription.id)
        .order_by(func.coalesce(order, 1), Delivery.created_at.desc(), Delivery.id.desc())
        .limit(limit)
    )
    return [
        (deliveries.view(session, sent), subscriptions.view(session, receiver))
        for sent, receiver in rows
    ]


def count_messages(session: Session) -> Mapping[DeliveryState, int]:
    """How many messages stand where."""
    found = _count_column_by_state(session, Delivery.state)
    return {state: found.get(state, 0) for state in DeliveryState}


def summarize_work(session: Session, now: datetime) -> dict[str, Any]:
    """Rows by state, and how long the oldest due work has been waiting, in seconds."""
    oldest = session.scalar(
        select(func.min(Work.not_before)).where(
            Work.state == WorkState.WAITING, Work.not_before <= now
        )
    )
    work = session.execute(
        select(Work.kind, Work.state, func.count()).group_by(Work.kind, Work.state)
    )
    return {
        "incidents": _count_column_by_state(session, Incident.state),
        "artifacts": _count_column_by_state(session, Artifact.state),
        "deliveries": _count_column_by_state(session, Delivery.state),
        "work": {(kind, state): number for kind, state, number in work},
        "failing_subscriptions": session.scalar(
            select(func.count())
            .select_from(Subscription)
            .where(Subscription.failing_since.is_not(None), Subscription.disabled_at.is_(None))
        )
        or 0,
        "work_waiting": {one.part: one.number for one in count_waiting(session)},
        "oldest_due_s": 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
    }


def _count_column_by_state(
    session: Session,
    column: Any,  # noqa: ANN401 - a column of text
    *where: ColumnElement[bool],
) -> dict[str, int]:
    rows = session.execute(select(column, func.count()).where(*where).group_by(column))
    return {str(state): number for state, number in rows}


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """``running`` rows are held under a live lease; ``last_at`` is the newest act of anybody."""

    running: int
    owners: tuple[str, ...]
    last_at: datetime | None


def read_activity(session: Session, now: datetime) -> WorkerActivity:
    """Who holds work now, and when anybody last took or finished some."""
    held = list(
        session.execute(
            select(Work.owner, func.count())
            .where(Work.state == WorkState.RUNNING, Work.lease_until > now)
            .group_by(Work.owner)
        )
    )
    last = session.scalar(
        select(func.max(Work.updated_at)).where(Work.state.in_([WorkState.RUNNING, WorkState.DONE]))
    )
    return WorkerActivity(
        sum(number for _, number in held), tuple(sorted(str(owner) for owner, _ in held)), last
    )
