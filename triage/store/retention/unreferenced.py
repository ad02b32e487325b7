"""Blobs that no row refers to: marked by the round that finds them, due a week later.

The marks under which this database has written to its blob store.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from models import Installation, UnreferencedBlob, Upload
from triage.store.database.ids import make_id
from triage.store.database.upsert import insert_missing

WEEK: Final = timedelta(days=7)


def find_known_blobs(session: Session, keys: Sequence[str]) -> set[str]:
    """Which of these blobs an upload refers to."""
    found = session.scalars(select(Upload.blob_key).where(Upload.blob_key.in_(keys)))
    return {key for key in found if key is not None}


def mark(session: Session, keys: Iterable[str], now: datetime) -> None:
    """A round has found these without a row."""
    new = [{"blob_key": key, "marked_at": now, "erased": False} for key in keys]
    insert_missing(session, UnreferencedBlob, new)
    # The clock was ahead, and is not any more.
    ahead = update(UnreferencedBlob).where(UnreferencedBlob.marked_at > now)
    session.execute(ahead.values(marked_at=now))


def mark_erased(session: Session, keys: Iterable[str], now: datetime) -> None:
    """These are to go at once: a person wants it. A process that dies meanwhile leaves the mark."""
    keys = list(keys)
    forget(session, keys)
    row = {"marked_at": now, "erased": True}
    insert_missing(session, UnreferencedBlob, [{"blob_key": key, **row} for key in keys])


def list_erased(session: Session) -> list[str]:
    """Those that a person wants gone, and that are perhaps still there."""
    query = select(UnreferencedBlob.blob_key).where(UnreferencedBlob.erased)
    return list(session.scalars(query))


def list_marked(session: Session, before: datetime | None = None) -> list[str]:
    """All that rounds have marked, or until ``before``; the oldest first."""
    query = select(UnreferencedBlob.blob_key).where(~UnreferencedBlob.erased)
    if before is not None:
        query = query.where(UnreferencedBlob.marked_at <= before)
    return list(session.scalars(query.order_by(UnreferencedBlob.marked_at)))


def count_marked(session: Session) -> int:
    """How many are marked."""
    query = select(func.count()).select_from(UnreferencedBlob).where(~UnreferencedBlob.erased)
    return session.scalar(query) or 0


def list_due(session: Session, now: datetime) -> list[str]:
    """Those that were found without a row a week ago, the oldest first."""
    return list_marked(session, now - WEEK)


def forget(session: Session, keys: Sequence[str]) -> None:
    """They have a row again, or are gone."""
    session.execute(delete(UnreferencedBlob).where(UnreferencedBlob.blob_key.in_(keys)))


# Starts and rounds whose marks are remembered: of processes that start at the same moment, any
# may be the last to write.
_REMEMBERED: Final = 200


def list_known_marks(session: Session) -> set[str]:
    """All marks that this database knows as its own."""
    return set(session.scalars(select(Installation.id)))


def add_mark(session: Session, now: datetime) -> str:
    """One more mark of its own; the oldest are forgotten."""
    mark = make_id("mark", now)
    session.add(Installation(id=mark, created_at=now))
    session.flush()
    newest = select(Installation.id).order_by(
        Installation.created_at.desc(), Installation.id.desc()
    )
    kept = set(session.scalars(newest.limit(_REMEMBERED))) | {mark}
    session.execute(delete(Installation).where(Installation.id.not_in(kept)))
    return mark
