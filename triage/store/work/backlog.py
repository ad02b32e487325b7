"""What is owed and what was sent, as people look at it: the newest first, and how many."""

from collections.abc import Mapping

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from models import Delivery, Subscription, Work
from triage.domain.states import DeliveryState, WorkState
from triage.store.messages import deliveries, subscriptions
from triage.store.views import DeliveryView, SubscriptionView, WorkView
from triage.store.work import table as work

__all__ = ["messages", "newest_work", "num_by_state", "num_messages"]


def newest_work(session: Session, limit: int = 100) -> list[WorkView]:
    """Work that is not done: what was given up first, then what runs, then what waits."""
    order = case({str(WorkState.QUARANTINED): 0, str(WorkState.RUNNING): 1}, value=Work.state)
    rows = session.scalars(
        select(Work)
        .where(Work.state != WorkState.DONE)
        .order_by(func.coalesce(order, 2), Work.not_before, Work.id)
        .limit(limit)
    )
    return [work.view(row) for row in rows]


def num_by_state(session: Session) -> Mapping[WorkState, int]:
    """How many rows stand where; done ones are not counted."""
    rows = session.execute(
        select(Work.state, func.count()).where(Work.state != WorkState.DONE).group_by(Work.state)
    )
    found = dict.fromkeys((WorkState.WAITING, WorkState.RUNNING, WorkState.QUARANTINED), 0)
    return {**found, **{WorkState(state): number for state, number in rows}}


def messages(session: Session, limit: int = 100) -> list[tuple[DeliveryView, SubscriptionView]]:
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


def num_messages(session: Session) -> Mapping[DeliveryState, int]:
    """How many messages stand where."""
    rows = session.execute(select(Delivery.state, func.count()).group_by(Delivery.state))
    found = dict.fromkeys(DeliveryState, 0)
    return {**found, **{DeliveryState(state): number for state, number in rows}}
