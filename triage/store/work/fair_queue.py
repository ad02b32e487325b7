"""The fair queue of uploads: those of one job take turns that lie apart.

So a burst of one job does not keep the others waiting.
"""

from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import Table, bindparam, case, func, insert, select, update
from sqlalchemy.orm import Session

from models import Job, Work
from triage.domain.states import WorkKind, WorkState
from triage.store.database.engine import wake_after_commit

__all__ = ["FIRST", "enqueue_upload", "new_row"]

# The turn of work that belongs to no job, or that a whole incident waits for: before all uploads.
FIRST: Final = 0

WORKS: Final = cast("Table", Work.__table__)
JOBS: Final = cast("Table", Job.__table__)
FRONT: Final = func.coalesce(
    select(func.min(WORKS.c.turn))
    .where(WORKS.c.state == str(WorkState.WAITING), WORKS.c.turn > FIRST)
    .scalar_subquery(),
    FIRST,
)
TAKE_TURN: Final = (
    update(JOBS)
    .where(JOBS.c.id == bindparam("of_job"))
    .values(last_turn=case((JOBS.c.last_turn > FRONT, JOBS.c.last_turn), else_=FRONT) + 1)
    .returning(JOBS.c.last_turn, FRONT)
)
INSERT: Final = insert(WORKS)


def enqueue_upload(session: Session, upload_id: str, job_fk: int, now: datetime) -> int:
    """Ask for a new upload to be read; how many of its job wait before it.

    Its turn is behind the latest of its own job, and not before the first of those who wait.
    """
    turn, front = session.execute(TAKE_TURN, {"of_job": job_fk}).one()
    session.execute(
        INSERT, new_row(WorkKind.PARSE, upload_id, now) | {"job_fk": job_fk, "turn": turn}
    )
    wake_after_commit(session, WorkKind.PARSE)
    return turn - front if front > FIRST else 0


def new_row(kind: WorkKind, key: str, now: datetime) -> dict[str, Any]:
    """The columns of a row that nobody has claimed yet, due now."""
    return {
        "kind": str(kind),
        "key": key,
        "turn": FIRST,
        "state": str(WorkState.WAITING),
        "generation": 0,
        "tries": 0,
        "not_before": now,
        "created_at": now,
        "updated_at": now,
    }
