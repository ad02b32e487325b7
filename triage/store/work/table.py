"""What is owed: put in line, claimed under a lease, finished, or given back.

A row is claimed by one worker at a time; its lease is renewed while that one lives. What
is asked for again while somebody does it is done once more afterwards.

The fair queue of uploads: those of one job take turns that lie apart.

So a burst of one job does not keep the others waiting. The more jobs a token speaks of, the
further apart are the turns of each: many jobs of one token have no more of the queue than one
of another. Analyses of a crowd of jobs come behind those of others.

Work that waits for our surroundings: as long as it takes, whatever it is about.

What is due and nobody has taken, and what was taken by a worker that was lost.

What is done by the clock, as rows of work that must not get lost.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from sqlalchemy import (
    Table,
    bindparam,
    case,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.orm import Session, load_only

from models import Artifact, Incident, Job, Upload, Work
from triage.domain.states import ArtifactState, WorkKind, WorkState
from triage.store.database.engine import wake_after_commit
from triage.store.database.upsert import count_changed, insert_or_none, lock_rows

# While a row is held, nothing has asked for it again yet.
_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)
# Seconds to the power of tries, up to some minutes.
BACKOFF_S: Final = 4.0
MOST_BACKOFF_S: Final = 600.0
# What reads foreign bytes may itself be what ends its workers. The rest only happened to be
# held by them: a message is owed however often that was.
_QUARANTINED_KINDS: Final = frozenset({WorkKind.PARSE, WorkKind.ANALYSE})

# What every upload and every reading asks for is made once, of the table: to make a statement
# takes longer than the database does.
_WORKS: Final = cast("Table", Work.__table__)
_ASK_AGAIN: Final = (
    update(_WORKS)
    .where(
        _WORKS.c.kind == bindparam("of_kind"),
        _WORKS.c.key == bindparam("of_key"),
        _WORKS.c.state.in_([str(WorkState.WAITING), str(WorkState.RUNNING)]),
    )
    .values(
        generation=_WORKS.c.generation + 1,
        updated_at=bindparam("now", type_=_WORKS.c.updated_at.type),
        not_before=case(
            (_WORKS.c.not_before < bindparam("at"), _WORKS.c.not_before),
            else_=bindparam("at", type_=_WORKS.c.not_before.type),
        ),
    )
    .returning(_WORKS.c.id)
)


def enqueue(
    session: Session,
    kind: WorkKind,
    key: str,
    now: datetime,
    *,
    not_before: datetime | None = None,
) -> int:
    """Ask for this to be done, not before that time and before all uploads that wait; its row.

    A worker is woken after the commit when it is due by then.
    """
    at = not_before or now
    if at <= now:
        wake_after_commit(session, kind)
    asked = _ask_again(session, kind, key, now, at)
    return _insert_or_reopen(session, kind, key, now, at) if asked is None else asked


def _insert_or_reopen(
    session: Session, kind: WorkKind, key: str, now: datetime, at: datetime
) -> int:
    found = select(Work).where(Work.kind == kind, Work.key == key)
    row = lock_rows(session, found).one_or_none()
    if row is None:
        new = make_row(kind, key, now) | {"not_before": at}
        row_id = insert_or_none(session, Work, new, Work.id)
        if row_id is not None:
            return row_id
        row = lock_rows(session, found).one()  # somebody else was quicker
    if row.state in (WorkState.DONE, WorkState.QUARANTINED):
        row.state = WorkState.WAITING
        row.tries = row.waits = 0
        row.not_before = at
        row.turn = FIRST
    else:
        row.not_before = min(row.not_before, at)
    row.generation += 1
    row.updated_at = now
    return row.id


def _ask_again(
    session: Session, kind: WorkKind, key: str, now: datetime, at: datetime
) -> int | None:
    """Note that this is asked for, if it waits or is being done; the row's id."""
    # By the table: what the session holds of it is written first, and read again when locked.
    session.flush()
    asked = {"of_kind": str(kind), "of_key": key, "now": now, "at": at}
    row_id: int | None = session.scalar(_ASK_AGAIN, asked)
    return row_id


def claim(
    session: Session, kind: WorkKind, owner: str, now: datetime, lease_s: float
) -> Work | None:
    """The next due row of this kind, from now on held by ``owner``; None when there is none."""
    row = session.scalar(
        select(Work)
        .where(Work.state == WorkState.WAITING, Work.kind == kind, Work.not_before <= now)
        .order_by(Work.turn, Work.not_before)
        .limit(1)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    )
    if row is None:
        return None
    return _give(row, owner, now, now + timedelta(seconds=lease_s))


def claim_beside(
    session: Session, first: Work, owner: str, now: datetime, *, most: int, most_bytes: int
) -> list[Work]:
    """Uploads of the same job that are read together with ``first``, which was just claimed:
    at most so many, and with it so many stored bytes, under the same lease.

    One that has cost a worker is not among them, nor beside it.
    """
    if first.tries > 1 or first.lease_until is None:
        return []
    job_fk = select(Work.job_fk).where(Work.id == first.id).scalar_subquery()
    size = select(Upload.stored_bytes).where(Upload.id == first.key)
    left = most_bytes - (session.scalar(size) or 0)
    rows = session.execute(
        select(Work, Upload.stored_bytes)
        .join(Upload, Upload.id == Work.key)
        .where(Work.state == WorkState.WAITING, Work.kind == first.kind, Work.not_before <= now)
        .where(Work.job_fk == job_fk, Work.tries == 0)
        .order_by(Work.turn, Work.not_before)
        .limit(most)
        .with_for_update(of=Work, skip_locked=True)
        .execution_options(populate_existing=True)
    ).all()
    claimed = []
    for row, stored_bytes in rows:
        left -= stored_bytes
        if left < 0:
            break
        claimed.append(_give(row, owner, now, first.lease_until))
    return claimed


def _give(row: Work, owner: str, now: datetime, until: datetime) -> Work:
    """Let ``owner`` hold this row from now on."""
    row.state = WorkState.RUNNING
    row.owner = owner
    row.lease_until = until
    row.tries += 1
    row.not_before = _NEVER
    row.updated_at = now
    return row


def renew_lease(session: Session, row_id: int, owner: str, until: datetime) -> bool:
    """Keep a row; False when somebody else was given it in the meantime."""
    held = (Work.id == row_id, Work.owner == owner, Work.state == WorkState.RUNNING)
    return count_changed(session, update(Work).where(*held).values(lease_until=until)) > 0


def finish(
    session: Session, work: Work, owner: str, now: datetime, *, again_at: datetime | None = None
) -> bool:
    """Done, or to be looked at again at ``again_at``; False when the row was lost before."""
    return finish_all(session, [work], owner, now, again_at=again_at)


def finish_all(
    session: Session,
    works: Sequence[Work],
    owner: str,
    now: datetime,
    *,
    again_at: datetime | None = None,
) -> bool:
    """As :func:`finish`; where one of them was lost, none is finished."""
    rows = list_held(session, works, owner)
    if len(rows) < len(works):
        return False
    asked = {work.id: work.generation for work in works}
    for row in rows:
        asked_again = row.generation != asked[row.id]
        if again_at is not None:
            row.not_before = min(row.not_before, again_at)
        waits = asked_again or again_at is not None
        row.state = WorkState.WAITING if waits else WorkState.DONE
        if waits and row.not_before <= now:
            wake_after_commit(session, WorkKind(row.kind))
        row.tries = row.waits = 0
        row.owner = row.lease_until = row.last_error = None
        row.waiting_since = row.waiting_for = None
        row.updated_at = now
    return True


def fail(
    session: Session, work: Work, owner: str, now: datetime, error: str, max_tries: int
) -> bool:
    """Not done: to be tried again later, or quarantined; True when it is quarantined."""
    rows = list_held(session, [work], owner)
    if not rows:
        return False
    row = rows[0]
    row.last_error = error[:2000]
    row.owner = row.lease_until = row.waiting_since = row.waiting_for = None
    row.updated_at = now
    wait_s = min(MOST_BACKOFF_S, BACKOFF_S ** min(row.tries, 16))
    return put_back(row, now + timedelta(seconds=wait_s), max_tries)


def release(session: Session, owner: str, now: datetime) -> int:
    """Give back everything that a process holds that ends in good order; how many rows."""
    return count_changed(
        session,
        update(Work)
        .where(Work.owner == owner, Work.state == WorkState.RUNNING)
        .values(
            state=WorkState.WAITING,
            owner=None,
            lease_until=None,
            tries=Work.tries - 1,
            not_before=now,
            updated_at=now,
        ),
    )


def expire_owner(session: Session, prefix: str, now: datetime) -> int:
    """End the leases of a process that is known to be dead; how many rows."""
    return count_changed(
        session,
        update(Work)
        .where(Work.owner.startswith(prefix, autoescape=True), Work.state == WorkState.RUNNING)
        .values(lease_until=now),
    )


def list_held(session: Session, works: Sequence[Work], owner: str) -> Sequence[Work]:
    """The rows, held, that this owner still has."""
    hold_incidents(session, [work.key for work in works if work.kind == WorkKind.ANALYSE])
    found = select(Work).where(
        Work.id.in_([work.id for work in works]),
        Work.owner == owner,
        Work.state == WorkState.RUNNING,
    )
    return lock_rows(session, found.order_by(Work.id)).all()


def hold_incidents(session: Session, incident_ids: Sequence[str]) -> None:
    """Lock the incidents before their work: who asks for an analysis does so, in that order."""
    if not incident_ids:
        return
    query = select(Incident).options(load_only(Incident.id)).order_by(Incident.id)
    lock_rows(session, query.where(Incident.id.in_(incident_ids))).all()


def put_back(row: Work, again_at: datetime, max_tries: int) -> bool:
    """Let a row that was not done wait, or quarantine it; whether it is quarantined.

    What was asked for again while it was tried is as new: it gets all its tries.
    """
    asked_again = row.not_before < _NEVER
    if row.tries >= max_tries and not asked_again and row.kind in _QUARANTINED_KINDS:
        row.state = WorkState.QUARANTINED
        row.not_before = again_at
        return True
    if row.tries >= max_tries and asked_again:
        row.tries = 0
    row.state = WorkState.WAITING
    row.not_before = min(row.not_before, again_at)
    return False


# The turn of work that belongs to no job, or that a whole incident waits for: before all uploads.
FIRST: Final = 0

# With no more jobs than these at once a token is no crowd.
_FEW_JOBS: Final = 8

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


# Seconds until our surroundings are asked again, doubled each time up to half a minute: what
# waits is done some minutes after they are back.
_MOST_WAIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """So many pieces of work, or files, wait for a part of our surroundings."""

    part: str
    number: int
    since: datetime

    def words(self, thing: str) -> str:
        """As a clause; ``thing`` is what is counted, in the singular."""
        things = thing.replace("piece", "pieces", 1) if "piece" in thing else f"{thing}s"
        many = f"{self.number:,} {thing if self.number == 1 else things}"
        verb = "waits" if self.number == 1 else "wait"
        return f"{many} {verb} for {self.part} since {self.since:%Y-%m-%d %H:%M}Z"


def put_off(
    session: Session, works: Sequence[Work], owner: str, now: datetime, error: str, part: str
) -> None:
    """Not done, because ``part`` of our surroundings is not there: tried again as often as it
    takes, and no try is counted. Rows that were lost before stay as they are.
    """
    for row in list_held(session, works, owner):
        row.waits += 1
        row.tries -= 1  # that of this claim
        row.waiting_for = part
        row.waiting_since = row.waiting_since or now
        row.last_error = error[:2000]
        row.state = WorkState.WAITING
        row.owner = row.lease_until = None
        again_s = min(_MOST_WAIT_S, 2.0 ** min(row.waits, 16))
        row.not_before = min(row.not_before, now + timedelta(seconds=again_s))
        row.updated_at = now


def release_waiting(session: Session, part: str, now: datetime) -> None:
    """``part`` of our surroundings answers again: what waits for it is due."""
    waits = (
        select(Work.id)
        .where(Work.state == WorkState.WAITING, Work.not_before > now, Work.waiting_for == part)
        .order_by(Work.id)
        .with_for_update(skip_locked=True)
    )
    session.execute(
        update(Work)
        .where(Work.id.in_(waits))
        .values(not_before=now)
        .execution_options(synchronize_session=False)
    )


def count_waiting(session: Session) -> list[WaitingFor]:
    """Pieces of work that wait, by what they wait for."""
    rows = session.execute(
        select(Work.waiting_for, func.count(), func.min(Work.waiting_since))
        .where(Work.state.in_([WorkState.WAITING, WorkState.RUNNING]))
        .where(Work.waiting_for.is_not(None))
        .group_by(Work.waiting_for)
        .order_by(Work.waiting_for)
    )
    return [_make_waiting(*row) for row in rows]


def count_by_incident(session: Session, incident_id: str) -> list[WaitingFor]:
    """Files of an incident that wait to be read, by what they wait for."""
    rows = session.execute(
        select(Work.waiting_for, func.count(), func.min(Work.waiting_since))
        .select_from(Artifact)
        .join(Upload, Upload.id == Artifact.upload_id)
        .join(Work, Work.key == Upload.id)
        .where(Artifact.incident_id == incident_id, Artifact.state == ArtifactState.STORED)
        .where(Work.kind == WorkKind.PARSE, Work.waiting_for.is_not(None))
        .group_by(Work.waiting_for)
        .order_by(Work.waiting_for)
    )
    return [_make_waiting(*row) for row in rows]


def _make_waiting(part: str | None, number: int, since: datetime | None) -> WaitingFor:
    assert part is not None
    assert since is not None
    return WaitingFor(part, number, since)


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


def reclaim_lost(session: Session, now: datetime, max_tries: int) -> list[Work]:
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
            quarantined.append(row)
    return quarantined


def has_lost(session: Session, now: datetime) -> bool:
    """Whether a lease has run out; asked before anything is locked."""
    return (
        session.scalar(
            select(Work.id).where(Work.state == WorkState.RUNNING, Work.lease_until <= now).limit(1)
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
ERASE: Final = "erase"
PROBLEMS: Final = "problems"


def enqueue_idle(session: Session, key: str, now: datetime) -> bool:
    """Put this in line where it is not; what was given up gets another chance."""
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
