"""Requests under a key of their sender: claimed by one who carries them out, then answered.

An answer is written in the transaction that does what was asked, so that after any death of
a process either both are there or neither.
"""

from datetime import datetime, timedelta
from typing import Final, Required, TypedDict, Unpack

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from models import Idempotency
from triage.store.database.upsert import count_changed, insert_missing, lock_rows

# The same key later than this is a new request.
KEPT: Final = timedelta(hours=24)
# A process that has not answered a request after this time is taken for dead.
LEASE: Final = timedelta(seconds=60)


def claim(
    session: Session, row_id: str, fingerprint: str, owner: str, now: datetime
) -> Idempotency | None:
    """None: the request is ``owner``'s to carry out. Else what another one made of it."""
    session.execute(
        delete(Idempotency).where(Idempotency.id == row_id, Idempotency.created_at <= now - KEPT)
    )
    while True:
        row = {"id": row_id, "fingerprint": fingerprint, "owner": owner}
        insert_missing(session, Idempotency, [{**row, "created_at": now, "taken_at": now}])
        kept = lock_rows(session, select(Idempotency).where(Idempotency.id == row_id)).one_or_none()
        if kept is not None:
            break
        # It was there, and was released before it could be held.
    if kept.owner == owner:
        return None
    dead = kept.status is None and kept.taken_at <= now - LEASE
    if dead and kept.fingerprint == fingerprint:
        kept.owner, kept.taken_at = owner, now
        return None
    return kept


class _AnswerColumns(TypedDict, total=False):
    """What is kept of an answer; what is left out stays None."""

    status: Required[int]
    location: str | None
    body: bytes | None
    subject: str | None


def finish(session: Session, row_id: str, owner: str, **answer: Unpack[_AnswerColumns]) -> bool:
    """Keep the answer; False where another one has taken the request over meanwhile."""
    mine = update(Idempotency).where(Idempotency.id == row_id, Idempotency.owner == owner)
    return count_changed(session, mine.where(Idempotency.status.is_(None)).values(**answer)) == 1


def release(session: Session, row_id: str, owner: str) -> None:
    """Nothing was done: the key is free. What is answered already stays."""
    session.execute(
        delete(Idempotency).where(
            Idempotency.id == row_id, Idempotency.owner == owner, Idempotency.status.is_(None)
        )
    )


def forget_about(session: Session, subject: str) -> None:
    """Forget the answers that say something of what is erased."""
    answered = select(Idempotency.id, Idempotency.body, Idempotency.location)
    for key, body, location in session.execute(answered.where(Idempotency.status.is_not(None))):
        if subject.encode() in (body or b"") or subject in (location or ""):
            session.execute(delete(Idempotency).where(Idempotency.id == key))


def prune(session: Session, now: datetime) -> int:
    """Forget what is older than a day; how many."""
    return count_changed(session, delete(Idempotency).where(Idempotency.created_at <= now - KEPT))
