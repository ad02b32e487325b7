"""The fair queue of uploads: those of one job take turns that lie apart.

So a burst of one job does not keep the others waiting. The more jobs a token speaks of, the
further apart are the turns of each: many jobs of one token have no more of the queue than one
of another. Analyses of a crowd of jobs come behind those of others.
"""

from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import Table, bindparam, case, func, insert, select, update
from sqlalchemy.orm import Session

from models import Job, Work
from triage.domain.states import WorkKind, WorkState
from triage.store.database.engine import wake_after_commit

__all__ = ["FIRST", "enqueue_upload", "new_row", "yield_turn"]

# The turn of work that belongs to no job, or that a whole incident waits for: before all uploads.
FIRST: Final = 0

# With no more jobs than these at once a token is no crowd.
FEW_JOBS: Final = 8

WORKS: Final = cast("Table", Work.__table__)
JOBS: Final = cast("Table", Job.__table__)
FRONT: Final = func.coalesce(
    select(func.min(WORKS.c.turn))
    .where(WORKS.c.state == str(WorkState.WAITING), WORKS.c.turn > FIRST)
    .scalar_subquery(),
    FIRST,
)
BEHIND: Final = JOBS.c.last_turn + bindparam("step")
FIRST_OF_JOB: Final = FRONT + bindparam("entry")
TAKE_TURN: Final = (
    update(JOBS)
    .where(JOBS.c.id == bindparam("of_job"))
    .values(last_turn=case((BEHIND > FIRST_OF_JOB, BEHIND), else_=FIRST_OF_JOB))
    .returning(JOBS.c.last_turn, FRONT)
)
INSERT: Final = insert(WORKS)
YIELD: Final = (
    update(WORKS)
    .where(
        WORKS.c.kind == str(WorkKind.ANALYSE),
        WORKS.c.key == bindparam("of_incident"),
        WORKS.c.state == str(WorkState.WAITING),
    )
    .values(turn=bindparam("num_jobs"))
)


def enqueue_upload(
    session: Session, upload_id: str, job_fk: int, now: datetime, step: int = 1
) -> int:
    """Ask for a new upload to be read; how many of its job wait before it.

    Its turn is ``step`` behind the latest of its own job, and behind the first of those who wait:
    by one, or by so many as ``step`` has more than a few.
    """
    asked = {"of_job": job_fk, "step": step, "entry": max(1, step - FEW_JOBS)}
    turn, front = session.execute(TAKE_TURN, asked).one()
    session.execute(
        INSERT, new_row(WorkKind.PARSE, upload_id, now) | {"job_fk": job_fk, "turn": turn}
    )
    wake_after_commit(session, WorkKind.PARSE)
    return (turn - front) // step if front > FIRST else 0


def yield_turn(session: Session, incident_id: str, num_jobs: int) -> None:
    """Put the analysis of an incident behind others, where its token speaks of so many jobs."""
    if num_jobs > FEW_JOBS:
        session.execute(YIELD, {"of_incident": incident_id, "num_jobs": num_jobs})


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
