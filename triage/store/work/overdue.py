"""What is due and nobody has taken, and what was taken by a worker that was lost.

What is done by the clock, as rows of work that must not get lost.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, cast

from sqlalchemy import Table, bindparam, select
from sqlalchemy.orm import Session

from models import Work
from triage.domain.states import WorkKind, WorkState
from triage.store.views import WorkView
from triage.store.work.table import enqueue, hold_incidents, put_back, view

_WORKS: Final = cast("Table", Work.__table__)
_LOST_FACTOR: Final = 2
_DUE: Final = (
    select(_WORKS.c.kind)
    .where(
        _WORKS.c.state == str(WorkState.WAITING),
        _WORKS.c.not_before <= bindparam("now"),
        _WORKS.c.kind.in_(bindparam("kinds", expanding=True)),
    )
    .order_by(_WORKS.c.turn, _WORKS.c.not_before)
    .limit(bindparam("most"))
)


def reclaim_lost(session: Session, now: datetime, max_tries: int) -> list[WorkView]:
    """Rows whose worker was not heard of in time wait again; those that are given up now.

    Twice as many workers may be lost over one as tries may fail: of an upload that has cost one,
    each file is read alone from then on, and the one that ends its readers is found.
    """
    expired = (Work.state == WorkState.RUNNING, Work.lease_until <= now)
    analysed = select(Work.key).where(*expired, Work.kind == WorkKind.ANALYSE)
    hold_incidents(session, session.scalars(analysed).all())
    rows = session.scalars(
        select(Work)
        .where(*expired)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    ).all()
    quarantined = []
    for row in rows:
        row.owner = row.lease_until = None
        row.updated_at = now
        tries = row.tries
        if put_back(row, now, _LOST_FACTOR * max_tries):
            row.last_error = f"{tries} workers were lost over it"
            quarantined.append(view(row))
    return quarantined


def has_lost(session: Session, now: datetime) -> bool:
    """Whether a lease has run out; asked before anything is locked."""
    return (
        session.scalar(
            select(Work.id).where(Work.state == WorkState.RUNNING, Work.lease_until <= now).limit(1)
        )
        is not None
    )


def has_due(session: Session, before: datetime, kinds: Sequence[WorkKind]) -> bool:
    """Whether something of these kinds has been due since before then."""
    return (
        session.scalar(
            select(Work.id)
            .where(Work.state == WorkState.WAITING, Work.not_before <= before)
            .where(Work.kind.in_(kinds))
            .limit(1)
        )
        is not None
    )


def list_due(
    session: Session, now: datetime, kinds: Collection[WorkKind], limit: int
) -> list[WorkKind]:
    """Of each row of these kinds that waits and may begin, its kind; in the order of the queue."""
    asked = {"kinds": [str(kind) for kind in kinds], "now": now, "most": limit}
    return [WorkKind(kind) for kind in session.scalars(_DUE, asked)]


PRUNE: Final = "prune"
STORE: Final = "store"
ERASE: Final = "erase"
PROBLEMS: Final = "problems"


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
