"""What the table of work tells about those who do it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import Work
from triage.domain.states import WorkState


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
