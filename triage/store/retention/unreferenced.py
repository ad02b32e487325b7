"""Blobs that no row refers to: marked in each round that finds them, due after a week of rounds.

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
_ROUNDS: Final = 7
# Rounds nearer to each other count as one, whoever starts them.
_APART: Final = timedelta(hours=20)
# The rounds of a blob that goes because a person wants it.
_ERASED: Final = 1_000_000


def find_known_blobs(session: Session, keys: Sequence[str]) -> set[str]:
    """Which of these blobs an upload refers to."""
    found = session.scalars(select(Upload.blob_key).where(Upload.blob_key.in_(keys)))
    return {key for key in found if key is not None}


def mark(session: Session, keys: Iterable[str], now: datetime) -> None:
    """One more round has found these without a row."""
    found = list(keys)
    new = [{"blob_key": key, "marked_at": now, "seen_at": now, "num_rounds": 1} for key in found]
    of_these = UnreferencedBlob.blob_key.in_(found)
    # A clock that was ahead and is not any more begins anew, so that its marks do not count.
    ahead = update(UnreferencedBlob).where(of_these, UnreferencedBlob.seen_at > now)
    session.execute(ahead.values(marked_at=now, seen_at=now, num_rounds=1))
    counts = update(UnreferencedBlob).where(of_these, UnreferencedBlob.seen_at <= now - _APART)
    session.execute(counts.values(seen_at=now, num_rounds=UnreferencedBlob.num_rounds + 1))
    insert_missing(session, UnreferencedBlob, new)


def mark_erased(session: Session, keys: Iterable[str], now: datetime) -> None:
    """These are to go at once: a person wants it. A process that dies meanwhile leaves the mark."""
    keys = list(keys)
    forget(session, keys)
    row = {"marked_at": now, "seen_at": now, "num_rounds": _ERASED}
    insert_missing(session, UnreferencedBlob, [{"blob_key": key, **row} for key in keys])


def list_erased(session: Session) -> list[str]:
    """Those that a person wants gone, and that are perhaps still there."""
    query = select(UnreferencedBlob.blob_key).where(UnreferencedBlob.num_rounds >= _ERASED)
    return list(session.scalars(query))


def list_marked(session: Session) -> list[str]:
    """All that rounds have marked."""
    query = select(UnreferencedBlob.blob_key).where(UnreferencedBlob.num_rounds < _ERASED)
    return list(session.scalars(query))


def count_marked(session: Session) -> int:
    """How many are marked."""
    query = select(func.count()).select_from(UnreferencedBlob)
    return session.scalar(query.where(UnreferencedBlob.num_rounds < _ERASED)) or 0


def list_due(session: Session, now: datetime) -> list[str]:
    """Those that a week of rounds has found without a row, the oldest first."""
    query = select(UnreferencedBlob.blob_key).where(
        UnreferencedBlob.marked_at <= now - WEEK,
        UnreferencedBlob.num_rounds.between(_ROUNDS, _ERASED - 1),
    )
    return list(session.scalars(query.order_by(UnreferencedBlob.marked_at)))


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
