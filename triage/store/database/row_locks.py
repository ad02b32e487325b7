"""Row locks: rows are locked until the session ends, and read as they are once locked.

One order avoids deadlocks. A session that locks several rows takes them in this order: a work
row that it alone has, job, incident, work on that incident, nodes.
"""

from typing import TypeVar

from sqlalchemy import ScalarResult, Select
from sqlalchemy.orm import Session

from models import Base

Row = TypeVar("Row", bound=Base)


def lock_rows(
    session: Session, query: Select[Row], of: type[Base] | None = None
) -> ScalarResult[Row]:
    """The rows of the query, which nobody else changes from now on.

    Rows that refer to them can still be added meanwhile: an upload and a reader that both
    wrote rows of one incident would otherwise wait for each other. What the session knew of
    them before is read again, for it may have changed before they were held.
    """
    held = query.with_for_update(key_share=True, of=of)
    return session.scalars(held.execution_options(populate_existing=True))
