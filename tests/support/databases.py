"""Databases at the newest revision: copies of one that this process migrated once.

A migration from nothing takes longer than most tests. `tests/models` tests migrations; other
tests begin with a copy. On PostgreSQL to make a copy and to drop it costs a third of a second of
a processor, so a copy that a test is done with is emptied for the next one.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.support.servers import postgres_database
from triage.settings import Settings
from triage.store.database.engine import open_database
from triage.store.database.migrate import migrate

if TYPE_CHECKING:
    import psycopg

TEMPLATE = ExitStack()
FREE: list[tuple[str, ExitStack]] = []
"""(address, what drops it) of copies that are as they were."""
BEFORE: dict[str, tuple[str, dict[str, list[str]]]] = {}
"""What :func:`contents_of` a new copy is."""

TABLES = """
SELECT oid::regclass::text FROM pg_class
 WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# Each change of a table, a column, a key, an index or a trigger leaves rows of another transaction
# in these catalogues: to read the marks takes a fifth of the time of reading what was changed.
SHAPE = """
SELECT concat_ws(' ', count(*), sum(mark), max(mark), (
    SELECT string_agg(setconfig::text, ' ') FROM pg_db_role_setting JOIN pg_database d
        ON d.oid = setdatabase AND d.datname = current_database()
)) FROM (
    SELECT xmin::text::bigint AS mark FROM pg_class
    UNION ALL SELECT xmin::text::bigint FROM pg_attribute
    UNION ALL SELECT xmin::text::bigint FROM pg_attrdef
    UNION ALL SELECT xmin::text::bigint FROM pg_constraint
    UNION ALL SELECT xmin::text::bigint FROM pg_trigger
    UNION ALL SELECT xmin::text::bigint FROM pg_index
) AS marks
"""
# Without triggers and foreign keys, so in any order; only tables that have rows are touched.
EMPTY = """
DO $$
DECLARE
    one record;
    filled boolean;
BEGIN
    FOR one IN SELECT oid::regclass AS name FROM pg_class
                WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', one.name) INTO filled;
        IF filled THEN
            EXECUTE format('DELETE FROM %s', one.name);
        END IF;
    END LOOP;
    FOR one IN SELECT seqrelid::regclass AS name, seqstart FROM pg_sequence
    LOOP
        PERFORM setval(one.name, one.seqstart, false);
    END LOOP;
END $$
"""


@cache
def sqlite_image() -> bytes:
    with TemporaryDirectory() as folder:
        database = open_database(Settings(data_dir=Path(folder)))
        migrate(database)
        database.close()
        (whole,) = Path(folder).glob("triage.db*")  # once closed, it has no log beside it
        return whole.read_bytes()


def put_migrated_sqlite(data_dir: Path) -> None:
    """Put a migrated SQLite database where a service with this data directory looks for it."""
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "triage.db").write_bytes(sqlite_image())


@cache
def postgres_template() -> str:
    url = TEMPLATE.enter_context(postgres_database())
    database = open_database(Settings(database_url=url))
    migrate(database)
    database.close()
    return url.rpartition("/")[2]


@contextmanager
def migrated_postgres() -> Iterator[str]:
    """The SQLAlchemy address of a migrated database that nobody else uses."""
    template = postgres_template()
    if FREE:
        url, copy = FREE.pop()
    else:
        copy = ExitStack()
        url = copy.enter_context(postgres_database(template))
        with connected(url) as there:
            BEFORE.setdefault(template, contents_of(there))
    try:
        yield url
    finally:
        if emptied(url, BEFORE[template]):
            FREE.append((url, copy))
        else:
            copy.close()


@contextmanager
def connected(url: str) -> Iterator["psycopg.Connection"]:
    import psycopg

    plain = url.replace("postgresql+psycopg://", "postgresql://")
    options = "-c synchronous_commit=off -c statement_timeout=60s"
    with psycopg.connect(plain, autocommit=True, options=options) as found:
        yield found


def contents_of(there: "psycopg.Connection") -> tuple[str, dict[str, list[str]]]:
    """The marks of all tables' shape, and the rows of those that have some, as JSON."""
    tables = [name for (name,) in there.execute(TABLES)]
    rows = {
        name: [row for (row,) in there.execute(f"SELECT row_to_json(t)::text FROM {name} AS t")]
        for name in tables
    }
    [[shape]] = there.execute(SHAPE)
    return shape, {name: found for name, found in rows.items() if found}


def emptied(url: str, before: tuple[str, dict[str, list[str]]]) -> bool:
    """Whether the database could be made as it was ``before``: not when a table was changed."""
    import psycopg

    shape, rows = before
    try:
        with connected(url) as there:
            there.execute(END_OTHERS)
            [[now]] = there.execute(SHAPE)
            if now != shape:
                return False
            with there.transaction():
                there.execute("SET LOCAL session_replication_role = replica")
                there.execute(EMPTY)
                for name, lines in rows.items():
                    put = f"INSERT INTO {name} SELECT * FROM json_populate_record(NULL::{name}, %s)"
                    for line in lines:
                        there.execute(put, [line])
    except psycopg.Error:
        return False
    return True


def drop_template() -> None:
    """Drop what the copies were made from, and the copies."""
    while FREE:
        FREE.pop()[1].close()
    postgres_template.cache_clear()
    TEMPLATE.close()
