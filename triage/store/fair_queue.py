"""The line in which uploads wait to be read: each job's stand one behind the other, apart.

So a burst of one job does not keep the others waiting.
"""

from datetime import datetime
from typing import Final, cast

from sqlalchemy import Table, bindparam, case, func, insert, select, update
from sqlalchemy.orm import Session

from models import Job, Work
from triage.domain.states import WorkKind, WorkState

__all__ = ["FIRST", "stand_in_line"]

# Work that belongs to no job, or that a whole incident waits for, does not stand in line.
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
STAND_IN_LINE: Final = insert(WORKS).returning(WORKS.c.id)


def stand_in_line(session: Session, upload_id: str, job_fk: int, now: datetime) -> tuple[int, int]:
    """Ask for a new upload to be read: (the row's id, how many of its job stand before it).

    Its turn is behind the latest of its own job, and not before the first of those who wait.
    """
    turn, front = session.execute(TAKE_TURN, {"of_job": job_fk}).one()
    row_id: int = session.execute(
        STAND_IN_LINE,
        {
            "kind": str(WorkKind.PARSE), "key": upload_id, "job_fk": job_fk, "turn": turn,
            "state": str(WorkState.WAITING), "generation": 0, "tries": 0,
            "not_before": now, "created_at": now, "updated_at": now,
        },
    ).scalar_one()  # fmt: skip
    return row_id, turn - front if front > FIRST else 0
