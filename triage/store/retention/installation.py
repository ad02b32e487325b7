"""The marks under which this database has written to its blob store."""

from datetime import datetime
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from models import Installation
from triage.store.database.ids import make_id

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
