"""What is done by the clock, as rows of work that must not get lost."""

from datetime import datetime
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Work
from triage.domain.states import WorkKind, WorkState
from triage.store.work.table import enqueue

PRUNE: Final = "prune"
STORE: Final = "store"
ERASE: Final = "erase"


def enqueue_daily_round(session: Session, now: datetime) -> bool:
    """Put the round in line where it is not; one that was given up gets another chance."""
    return enqueue_idle(session, PRUNE, now)


def enqueue_idle(session: Session, key: str, now: datetime) -> bool:
    """Put this in line where it is not."""
    state = session.scalar(
        select(Work.state).where(Work.kind == WorkKind.RETENTION, Work.key == key)
    )
    if state in (WorkState.WAITING, WorkState.RUNNING):
        return False
    enqueue(session, WorkKind.RETENTION, key, now)
    return True


def enqueue_by(session: Session, key: str, at: datetime, now: datetime) -> bool:
    """Have this done then, unless it is being done, or is to be done before."""
    row = session.execute(
        select(Work.state, Work.not_before).where(Work.kind == WorkKind.RETENTION, Work.key == key)
    ).one_or_none()
    if row is not None and row.state == WorkState.RUNNING:
        return False
    if row is not None and row.state == WorkState.WAITING and row.not_before <= at:
        return False
    enqueue(session, WorkKind.RETENTION, key, now, not_before=at)
    return True
