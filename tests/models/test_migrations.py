"""Migrations: as the tables say, down and up again with data, killed half way, two at once."""

import signal

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Index, PrimaryKeyConstraint, UniqueConstraint, event, inspect, select, text

from models import Base, Cluster
from tests.models.killing import killed, migrating
from tests.store.conftest import NOW
from triage.errors import UsageError
from triage.store.database.engine import Database
from triage.store.database.migrate import (
    head_revision,
    list_known_revisions,
    migrate,
    read_current_revision,
)

TABLES = set(Base.metadata.tables)


def tables_of(database: Database) -> set[str]:
    return set(inspect(database.engine).get_table_names()) - {"alembic_version"}


def value_for(column, table):
    """Something that fits into the column; rows refer to the first of the other table."""
    for key in column.foreign_keys:
        return value_for(key.column, key.column.table)
    kind = column.type.python_type if not hasattr(column.type, "cache_ok") else None
    name = type(column.type).__name__
    if name in ("CleanText", "Name"):
        return "x"
    if name == "UtcTime":
        return NOW
    if name == "Json":
        return {"a": [1]}
    return {int: 1, bool: True, float: 0.5, bytes: b"\x00\xff"}[kind]


def fill(database: Database) -> None:
    """One row in every table, no column left out."""
    with database.writing() as session:
        for table in Base.metadata.sorted_tables:
            row = {column.name: value_for(column, table) for column in table.columns}
            session.execute(table.insert().values(row))


def test_up_from_empty_gives_the_tables_of_the_models(empty):
    assert read_current_revision(empty) is None
    assert migrate(empty) == head_revision() in list_known_revisions()

    with empty.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    found = inspect(empty.engine)
    for table in Base.metadata.sorted_tables:
        named = {one["name"] for one in found.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= named, table.name
        assert found.get_pk_constraint(table.name)["name"] == f"pk_{table.name}"
        wanted = {tuple(key.column_keys) for key in table.foreign_key_constraints}
        assert {
            tuple(k["constrained_columns"]) for k in found.get_foreign_keys(table.name)
        } == wanted


def test_each_reference_can_be_followed_backwards_by_an_index():
    """Else what is removed makes the database look through whole tables."""
    without = {("work", "job_fk")}  # jobs stay for good
    for table in Base.metadata.sorted_tables:
        keys = [*table.indexes, *table.constraints]
        first = {
            next(iter(one.columns)).name
            for one in keys
            if isinstance(one, Index | PrimaryKeyConstraint | UniqueConstraint)
        }
        for key in table.foreign_key_constraints:
            column = key.column_keys[0]
            assert column in first or (table.name, column) in without, (table.name, column)


def test_down_with_data_in_every_table_and_up_again(empty):
    migrate(empty)
    fill(empty)

    assert migrate(empty, "base") == "base"
    assert tables_of(empty) == set()
    assert migrate(empty) == head_revision()
    assert tables_of(empty) == TABLES
    fill(empty)


def test_what_is_there_stays_when_it_is_asked_again(empty):
    migrate(empty)
    fill(empty)

    assert migrate(empty) == head_revision()
    with empty.reading() as session:
        for table in Base.metadata.sorted_tables:
            assert len(session.execute(select(table)).all()) == 1


@pytest.mark.parametrize("after", [1, 12, 40])
def test_killed_on_the_way_up_it_is_migrated_afterwards(empty, after):
    seen = 0

    def count(connection, cursor, statement, *rest):
        nonlocal seen
        seen += statement.lstrip().upper().startswith(("CREATE", "INSERT INTO ALEMBIC"))

    assert killed(empty, after) == -signal.SIGKILL

    assert read_current_revision(empty) is None
    assert tables_of(empty) == set()
    event.listen(empty.engine, "after_cursor_execute", count)
    assert migrate(empty) == head_revision()
    assert seen >= after  # the kill came before the end
    assert tables_of(empty) == TABLES


def test_killed_on_the_way_down_nothing_is_lost(empty):
    migrate(empty)
    fill(empty)

    assert killed(empty, 20, "base") == -signal.SIGKILL

    assert read_current_revision(empty) == head_revision()
    with empty.reading() as session:
        for table in Base.metadata.sorted_tables:
            assert len(session.execute(select(table)).all()) == 1


def test_two_processes_migrate_at_once(empty):
    runs = [migrating(empty) for _ in range(3)]
    for one in runs:
        one.join(300)
    assert [one.exitcode for one in runs] == [0, 0, 0]

    assert read_current_revision(empty) == head_revision()
    assert tables_of(empty) == TABLES


def test_a_newer_database_is_refused_and_left_alone(empty):
    migrate(empty)
    with empty.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    for to in ("head", "base", head_revision()):
        with pytest.raises(UsageError, match=r"revision 9999.*newer one; use that release"):
            migrate(empty, to)
    assert tables_of(empty) == TABLES
    assert read_current_revision(empty) == "9999"


@pytest.mark.parametrize("to", ["0000", "nonsense", "-1", ""])
def test_a_revision_that_is_none_is_refused_with_those_there_are(empty, to):
    with pytest.raises(UsageError, match=rf"is no revision; there are: base, .*{head_revision()}"):
        migrate(empty, to)


def test_a_reader_in_the_middle_does_not_stop_it(empty):
    migrate(empty)
    with empty.writing() as session:
        session.add(Cluster(name="there"))
    with empty.reading() as session:
        assert session.scalars(select(Cluster.name)).all() == ["there"]
        assert migrate(empty) == head_revision()
        assert session.scalars(select(Cluster.name)).all() == ["there"]
