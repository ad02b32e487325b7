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

# The turn of work that belongs to no job, or that a whole incident waits for: before all uploads.
FIRST: Final = 0

# With no more jobs than these at once a token is no crowd.
_FEW_JOBS: Final = 8

_WORKS: Final = cast("Table", Work.__table__)
_JOBS: Final = cast("Table", Job.__table__)
_FRONT: Final = func.coalesce(
    select(func.min(_WORKS.c.turn))
    .where(_WORKS.c.state == str(WorkState.WAITING), _WORKS.c.turn > FIRST)
    .scalar_subquery(),
    FIRST,
)
_BEHIND: Final = _JOBS.c.last_turn + bindparam("step")
_FIRST_OF_JOB: Final = _FRONT + bindparam("entry")
_TAKE_TURN: Final = (
    update(_JOBS)
    .where(_JOBS.c.id == bindparam("of_job"))
    .values(last_turn=case((_BEHIND > _FIRST_OF_JOB, _BEHIND), else_=_FIRST_OF_JOB))
    .returning(_JOBS.c.last_turn)
)
_INSERT: Final = insert(_WORKS)
_YIELD: Final = (
    update(_WORKS)
    .where(
        _WORKS.c.kind == str(WorkKind.ANALYSE),
        _WORKS.c.key == bindparam("of_incident"),
        _WORKS.c.state == str(WorkState.WAITING),
    )
    .values(turn=bindparam("num_jobs"))
)


def enqueue_upload(
    session: Session, upload_id: str, job_fk: int, now: datetime, step: int = 1
) -> None:
    """Ask for a new upload to be read.

    Its turn is ``step`` behind the latest of its own job, and behind the first of those who wait:
    by one, or by so many as ``step`` has more than a few.
    """
    asked = {"of_job": job_fk, "step": step, "entry": max(1, step - _FEW_JOBS)}
    turn = session.execute(_TAKE_TURN, asked).scalar_one()
    session.execute(
        _INSERT, make_row(WorkKind.PARSE, upload_id, now) | {"job_fk": job_fk, "turn": turn}
    )
    wake_after_commit(session, WorkKind.PARSE)


def yield_turn(session: Session, incident_id: str, num_jobs: int) -> None:
    """Put the analysis of an incident behind others, where its token speaks of so many jobs."""
    if num_jobs > _FEW_JOBS:
        session.execute(_YIELD, {"of_incident": incident_id, "num_jobs": num_jobs})


def make_row(kind: WorkKind, key: str, now: datetime) -> dict[str, Any]:
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
