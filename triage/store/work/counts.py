"""How many rows there are of what, for metrics and the doctor."""

from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import Artifact, Delivery, Incident, Subscription, Work
from triage.domain.states import WorkState
from triage.store.work.beats import num_beating, silent
from triage.store.work.waiting import num_waiting

__all__ = ["counts"]


def counts(session: Session, now: datetime) -> dict[str, Any]:
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
        "incidents": by_state(session, Incident.state),
        "artifacts": by_state(session, Artifact.state),
        "deliveries": by_state(session, Delivery.state),
        "work": {(kind, state): number for kind, state, number in work},
        "failing_subscriptions": session.scalar(
            select(func.count())
            .select_from(Subscription)
            .where(Subscription.failing_since.is_not(None), Subscription.disabled_at.is_(None))
        )
        or 0,
        "workers": {"beating": num_beating(session, now), "silent": len(silent(session, now))},
        "work_waiting": {one.part: one.number for one in num_waiting(session)},
        "oldest_due_s": 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
    }


def by_state(session: Session, column: Any) -> dict[str, int]:  # noqa: ANN401 - a column of text
    return {
        str(state): number
        for state, number in session.execute(select(column, func.count()).group_by(column))
    }
