"""Rows that may be there already: inserted, or left alone, in one statement."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Base

__all__ = ["insert_missing", "insert_or_none"]

T = TypeVar("T")

# PostgreSQL takes at most 65,535 parameters in one statement, SQLite 32,766.
MOST_PARAMETERS = 30_000


def insert_missing(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose unique keys are not taken yet."""
    if not rows:
        return
    step = max(1, MOST_PARAMETERS // len(rows[0]))
    for start in range(0, len(rows), step):
        part = [dict(row) for row in rows[start : start + step]]
        session.execute(insert_into(session, model).values(part).on_conflict_do_nothing())


def insert_or_none(
    session: Session, model: type[Base], row: Mapping[str, Any], key: InstrumentedAttribute[T]
) -> T | None:
    """Insert one row and return this column of it; None where its unique key is taken."""
    new = insert_into(session, model).values(dict(row)).on_conflict_do_nothing()
    return session.scalar(new.returning(key))


def insert_into(session: Session, model: type[Base]) -> postgresql.Insert | sqlite.Insert:
    table = model.__table__
    assert isinstance(table, Table)
    if session.get_bind().dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
