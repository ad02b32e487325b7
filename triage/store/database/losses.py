"""What a migration would drop: the tables and columns that its target does not have, with rows."""

from typing import Final, NamedTuple

from sqlalchemy import Engine, column, create_engine, func, inspect, literal, select, table
from sqlalchemy.pool import StaticPool
from sqlalchemy.types import Text

from triage.store.database.engine import Database, translate_troubles
from triage.store.database.migrate import migrate

# The database's own notes, made again where they are missing.
_NOTES: Final = frozenset({"alembic_version", "clock_mark"})
_EMPTY: Final = ("", "0", "false")


class Loss(NamedTuple):
    """A table, or ``table.column``, that goes with so many rows that hold something."""

    name: str
    num_rows: int


def list_losses(database: Database, to: str) -> list[Loss]:
    """What would go on the way to a revision, the most rows first; nothing that is empty.

    The target's tables are those of an empty database that is brought there in memory.
    Raises :class:`UsageError` for a revision that is none.
    """
    memory = Database(
        create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    )
    try:
        migrate(memory, to)
        kept = _list_columns(memory.engine)
    finally:
        memory.close()
    with translate_troubles():
        present = _list_columns(database.engine)
        gone: list[tuple[str, ...]] = [(name,) for name in present if name not in kept]
        for name in present.keys() & kept.keys():
            gone += [(name, one) for one in sorted(present[name] - kept[name])]
        found = [Loss(".".join(one), _count_rows(database, *one)) for one in gone]
    return sorted((one for one in found if one.num_rows), key=lambda one: (-one.num_rows, one.name))


def _list_columns(engine: Engine) -> dict[str, set[str]]:
    """Tables with their columns."""
    look = inspect(engine)
    names = set(look.get_table_names()) - _NOTES
    return {name: {one["name"] for one in look.get_columns(name)} for name in names}


def _count_rows(database: Database, name: str, *of: str) -> int:
    """Rows of a table; with a column, those in which it holds something."""
    columns = [column(one, Text()) for one in of]
    query = select(func.count()).select_from(table(name, *columns))
    for one in columns:
        query = query.where(func.coalesce(one.cast(Text), literal("")).not_in(_EMPTY))
    with database.reading() as session:
        return session.scalar(query) or 0
