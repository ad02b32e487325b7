"""Rows that may be there already: inserted, or left alone.

Row locks: rows are locked until the session ends, and read as they are once locked.

One order avoids deadlocks. A session that locks several rows takes them in this order: a work
row that it alone has, job, incident, work on that incident, nodes.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import CursorResult, Delete, ScalarResult, Select, Table, Update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

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


def count_changed(session: Session, statement: Update | Delete) -> int:
    """Change or remove rows; how many. What the session holds of them is not looked at."""
    done = session.execute(statement.execution_options(synchronize_session=False))
    return cast("CursorResult[Any]", done).rowcount


T = TypeVar("T")


def insert_missing(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Insert the rows whose unique keys are not taken yet; whether that was all of them.

    All have the same columns. False also where the driver does not tell.
    """
    # One row a statement, which is compiled once for good; one of many rows is compiled again
    # for each number of them, and that takes longer than the database does.
    if not rows:
        return True
    new = _insert_missing(session.get_bind().dialect.name, model)
    done = cast("CursorResult[Any]", session.execute(new, [dict(row) for row in rows]))
    return done.rowcount == len(rows)


def insert_new(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert the rows whose unique keys are not taken yet; how many that were."""
    if not rows:
        return 0
    new = _insert_missing(session.get_bind().dialect.name, model)
    # The driver counts them, and forgets the number unless it is told to keep it.
    done = session.execute(
        new, [dict(row) for row in rows], execution_options={"preserve_rowcount": True}
    )
    return cast("CursorResult[Any]", done).rowcount


def insert_or_none(
    session: Session, model: type[Base], row: Mapping[str, Any], key: InstrumentedAttribute[T]
) -> T | None:
    """Insert one row and return this column of it; None where its unique key is taken."""
    new = _insert_missing(session.get_bind().dialect.name, model)
    return session.scalar(new.values(dict(row)).returning(key))


@cache
def _insert_missing(dialect: str, model: type[Base]) -> postgresql.Insert | sqlite.Insert:
    """An insert that leaves rows alone which are there; to make one takes as long as to run it."""
    table = model.__table__
    assert isinstance(table, Table)
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return insert(table).on_conflict_do_nothing()
