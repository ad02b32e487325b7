"""A database in trouble says which, and what to do: each kind by the real error of its driver."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from tests.support.servers import postgres_database
from triage.errors import Refusal, StorageFull, Unavailable
from triage.settings import Settings
from triage.store.database.engine import Database, open_database, translate_troubles
from triage.store.database.group_commit import GroupCommit
from triage.store.database.migrate import migrate
from triage.store.database.troubles import find_refusal

INSERT = "INSERT INTO cluster (name) VALUES ('a')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data directory of a migrated SQLite database."""
    found = open_database(Settings(data_dir=tmp_path))
    migrate(found)
    found.close()
    return tmp_path


@pytest.fixture(scope="module")
def postgres() -> Iterator[Database]:
    with postgres_database() as url:
        found = open_database(Settings(database_url=url))
        migrate(found)
        yield found
        found.close()


def sqlite_at(address: str) -> Database:
    return Database(create_engine(f"sqlite:///{address}", connect_args={"timeout": 0.05}))


def refused(do: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        do()
    assert caught.value.detail != "the database does not answer"
    assert caught.value.hint
    return caught.value


def writing(database: Database, *statements: str) -> Callable[[], None]:
    def do() -> None:
        with translate_troubles(), Session(database.engine) as session:
            for one in statements:
                session.execute(text(one))
            session.commit()

    return do


def test_a_locked_database_is_not_one_that_is_away(folder: Path) -> None:
    holder = sqlite3.connect(folder / "triage.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    found = sqlite_at(f"{folder}/triage.db")
    told = refused(writing(found, INSERT))
    assert isinstance(told, Unavailable)
    assert "holds the database" in told.detail
    assert "a backup" in told.hint
    holder.execute("ROLLBACK")
    holder.close()
    writing(found, INSERT)()
    found.close()


def test_a_database_that_can_only_be_read_says_so(folder: Path) -> None:
    found = sqlite_at(f"file:{folder}/triage.db?mode=ro&uri=true")
    told = refused(writing(found, INSERT))
    assert "can only be read" in told.detail
    assert told.retry_after_s == 30
    found.close()


def test_a_full_database_is_507(folder: Path) -> None:
    found = sqlite_at(f"{folder}/triage.db")
    fill = "INSERT INTO cluster (name) SELECT hex(randomblob(9000)) || value FROM generate"
    values = "CREATE TEMP VIEW generate AS WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL"
    values += " SELECT value + 1 FROM c LIMIT 100) SELECT value FROM c"
    with pytest.raises(StorageFull):
        writing(found, "PRAGMA max_page_count = 200", values, fill)()
    found.close()


def test_a_file_that_cannot_be_opened_names_the_folder(tmp_path: Path) -> None:
    found = sqlite_at(f"{tmp_path}/gone/triage.db")
    assert "cannot be opened" in refused(writing(found, INSERT)).detail
    found.close()


def test_a_damaged_file_names_the_backup(tmp_path: Path) -> None:
    (tmp_path / "triage.db").write_bytes(b"no database" * 1000)
    found = sqlite_at(f"{tmp_path}/triage.db")
    assert "backup" in refused(writing(found, INSERT)).hint
    found.close()


def test_an_empty_database_names_the_command(tmp_path: Path) -> None:
    found = sqlite_at(f"{tmp_path}/triage.db")
    assert "triage migrate" in refused(writing(found, INSERT)).hint
    found.close()
    with postgres_database() as url:
        found = open_database(Settings(database_url=url))
        assert "triage migrate" in refused(writing(found, INSERT)).hint
        found.close()


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (("SET TRANSACTION READ ONLY", INSERT), "can only be read"),
        (("SET LOCAL statement_timeout = 50", "SELECT pg_sleep(5)"), "took too long"),
        (("SELECT missing FROM cluster",), "lacks a table or a column"),
    ],
)
def test_postgresql_says_which(postgres: Database, statements: tuple[str, ...], said: str) -> None:
    told = refused(writing(postgres, *statements))
    assert isinstance(told, Unavailable)
    assert said in told.detail


def test_rows_that_somebody_else_holds(postgres: Database) -> None:
    with postgres.engine.connect() as holder:
        holder.execute(text("LOCK TABLE cluster"))
        told = refused(writing(postgres, "SET LOCAL lock_timeout = 50", INSERT))
    assert "holds the database" in told.detail
    assert "pg_locks" in told.hint


def test_two_that_cross_are_told_to_come_again(postgres: Database) -> None:
    serial = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"
    count = "INSERT INTO cluster (name) SELECT '{}' || count(*) FROM cluster"

    def crossing() -> None:
        with (
            translate_troubles(),
            Session(postgres.engine) as one,
            Session(postgres.engine) as other,
        ):
            for session, name in ((one, "one"), (other, "other")):
                session.execute(text(serial))
                session.execute(text(count.format(name)))
            one.commit()
            other.commit()

    assert "same rows" in refused(crossing).detail


@pytest.mark.parametrize("change", ["_nosuch", "user"])
def test_who_is_not_let_in_is_sent_to_the_settings(postgres: Database, change: str) -> None:
    url = postgres.engine.url
    url = url.set(username="nosuch") if change == "user" else url.set(database="nosuch")
    found = Database(create_engine(url))
    told = refused(found.check)
    assert "TRIAGE_DATABASE_URL" in told.hint
    assert "nosuch" not in told.detail + told.hint  # names of ours are nobody's business
    found.close()


class Code(Exception):
    """An error of a driver that has nothing but its code, and words."""

    def __init__(self, words: str = "", **codes: object) -> None:
        super().__init__(words)
        self.__dict__.update(codes)


@pytest.mark.parametrize(
    ("cause", "status", "said"),
    [
        (Code(sqlite_errorcode=sqlite3.SQLITE_IOERR_FSYNC), 503, "disk of the database fails"),
        (Code(sqlite_errorcode=sqlite3.SQLITE_BUSY_SNAPSHOT), 503, "holds the database"),
        (Code(sqlite_errorcode=sqlite3.SQLITE_READONLY_DBMOVED), 503, "can only be read"),
        (Code(sqlstate="53100"), 507, "no room left"),
        (Code(sqlstate="53300"), 503, "no connection"),
        (Code(sqlstate="40P01"), 503, "same rows"),
        (Code(sqlstate="57P03"), 503, "starting or stopping"),
        (Code("FATAL:  sorry, too many clients already"), 503, "no connection"),
        (Code("FATAL:  password authentication failed for x"), 503, "let the service in"),
        (Code("FATAL:  the database system is starting up"), 503, "starting or stopping"),
        (Code("Connection refused"), 503, "does not answer"),
        (Code("Verbindung abgelehnt"), 503, "does not answer"),
        (Code(sqlstate="08006"), 503, "does not answer"),
    ],
    ids=lambda one: str(vars(one) or one) if isinstance(one, Code) else None,
)
def test_each_code_is_told_apart(cause: Code, status: int, said: str) -> None:
    found = find_refusal(OperationalError("SELECT 1", {}, cause))
    assert found is not None
    assert (found.status, said in found.detail) == (status, True)
    assert found.hint
    assert found.retry_after_s


def test_a_pool_without_a_free_connection_is_no_server_that_is_away() -> None:
    found = find_refusal(PoolTimeout("QueuePool limit"))
    assert found is not None
    assert "no connection" in found.detail


@pytest.mark.parametrize(
    "error",
    [
        IntegrityError("x", {}, psycopg.errors.UniqueViolation("twice")),
        DBAPIError("x", {}, psycopg.errors.DivisionByZero("0")),
        DBAPIError("x", {}, Code(sqlstate="42601")),
    ],
    ids=["twice", "zero", "syntax"],
)
def test_a_mistake_of_ours_stays_one(error: DBAPIError) -> None:
    assert find_refusal(error) is None
    with pytest.raises(type(error)), translate_troubles():
        raise error


def test_who_waits_for_a_group_is_told_the_same(folder: Path) -> None:
    found = sqlite_at(f"file:{folder}/triage.db?mode=ro&uri=true")
    found.sqlite = False  # its own BEGIN IMMEDIATE belongs to another way of opening it
    commit = GroupCommit(found)
    told = refused(lambda: commit(lambda session: session.execute(text(INSERT))))
    assert "can only be read" in told.detail
    commit.close()
    found.close()
