"""Rows that may be there already: inserted, or left alone, in one statement."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from models import Base

__all__ = ["insert_missing"]

# PostgreSQL takes at most 65,535 parameters in one statement, SQLite 32,766.
MOST_PARAMETERS = 30_000


def insert_missing(session: Session, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose unique keys are not taken yet."""
    if not rows:
        return
    table = model.__table__
    assert isinstance(table, Table)
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    step = max(1, MOST_PARAMETERS // len(rows[0]))
    for start in range(0, len(rows), step):
        part = [dict(row) for row in rows[start : start + step]]
        session.execute(dialect.insert(table).values(part).on_conflict_do_nothing())
