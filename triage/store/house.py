"""The daily round of housekeeping, as a row of work that must not get lost."""

from datetime import datetime
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Work
from triage.domain.states import WorkKind, WorkState
from triage.store.work import arm

__all__ = ["arm_daily_round"]

KEY: Final = "prune"


def arm_daily_round(session: Session, now: datetime) -> bool:
    """Put the round in line where it is not; one that was given up gets another chance."""
    state = session.scalar(
        select(Work.state).where(Work.kind == WorkKind.RETENTION, Work.key == KEY)
    )
    if state in (WorkState.WAITING, WorkState.RUNNING):
        return False
    arm(session, WorkKind.RETENTION, KEY, now)
    return True
