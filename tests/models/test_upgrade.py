"""From 0.1.0's revision to the newest and back, with thousands of rows, while others write.

``benchmarks.upgrade`` does the same with the services of both releases and a million rows.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import MetaData, func, inspect, select, text

from tests.models.killing import killed
from tests.store.conftest import NOW
from tests.support.servers import postgres_database
from tests.support.waiting import eventually
from triage.errors import Unavailable
from triage.settings import Settings
from triage.store.database import migrate as migrating
from triage.store.database.engine import Database, open_database
from triage.store.database.migrate import head_revision, migrate, read_current_revision

# Revision of 0.1.0.
FIRST = "0007"
INCIDENTS = 500
FILES = 4
ROWS_PER_FILE = 2
GROWING = ("upload", "artifact")
BLANKS = {str: "x", int: 0, bool: False, float: 0.0, bytes: b"x"}


class Release:
    """Writes with the columns that the database had when the release's processes started."""

    def __init__(self, database: Database, name: str) -> None:
        self.database, self.name, self.number = database, name, 0
        self.tables = MetaData()
        self.tables.reflect(database.engine)

    def put(self, session: Any, table: str, rows: list[dict[str, Any]]) -> None:
        found = self.tables.tables[table]
        blank = {
            column.name: BLANKS.get(column.type.python_type, NOW)
            for column in found.columns
            if not column.nullable and column.name != "id"
        }
        session.execute(found.insert(), [blank | row for row in rows])

    def fill(self) -> None:
        """A year's rows."""
        with self.database.writing() as session:
            self.put(session, "cluster", [{"id": 1}])
            self.put(session, "job", [{"id": k + 1, "cluster_id": 1, "job_id": f"j{k}"}
                                      for k in range(INCIDENTS)])  # fmt: skip
            self.put(session, "incident", [{"id": f"inc_{k}", "job_fk": k + 1, "key": f"{k}"}
                                           for k in range(INCIDENTS)])  # fmt: skip
            for k in range(INCIDENTS):
                self.upload(session, f"inc_{k}", f"first-{k}")
            self.put(session, "evidence", [
                {"id": (k * FILES + file) * ROWS_PER_FILE + n + 1, "incident_id": f"inc_{k}",
                 "artifact_id": f"art_first-{k}_{file}", "ordinal": n, "at": None}
                for k in range(INCIDENTS) for file in range(FILES) for n in range(ROWS_PER_FILE)
            ])  # fmt: skip

    def upload(self, session: Any, incident_id: str, name: str) -> None:
        self.put(session, "upload", [{"id": f"upl_{name}", "incident_id": incident_id}])
        self.put(session, "artifact", [
            {"id": f"art_{name}_{k}", "incident_id": incident_id, "upload_id": f"upl_{name}",
             "identity": f"{name}-{k}"} for k in range(FILES)
        ])  # fmt: skip

    def write(self) -> str:
        """One more upload, committed."""
        self.number += 1
        name = f"{self.name}-{self.number}"
        with self.database.writing() as session:
            self.upload(session, f"inc_{self.number % INCIDENTS}", name)
            session.execute(text("UPDATE incident SET inputs = inputs + 1 WHERE id = 'inc_0'"))
        return name


@contextmanager
def writing_on(release: Release) -> Iterator[tuple[list[str], list[float]]]:
    """The release writes all the time: what was acknowledged, and how long each took in s."""
    acknowledged: list[str] = []
    took_s: list[float] = []
    stopping = threading.Event()

    def run() -> None:
        while not stopping.wait(0.01):
            began = time.monotonic()
            acknowledged.append(release.write())
            took_s.append(time.monotonic() - began)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield acknowledged, took_s
    finally:
        stopping.set()
        thread.join()


def ids(database: Database, table: str) -> set[str]:
    with database.reading() as session:
        return set(session.scalars(text(f"SELECT id FROM {table}")))


def counts(database: Database) -> dict[str, int]:
    tables = MetaData()
    tables.reflect(database.engine)
    with database.reading() as session:
        return {
            name: session.scalar(select(func.count()).select_from(tables.tables[name])) or 0
            for name in ("cluster", "job", "incident", "evidence")
        }


def other(database: Database) -> Database:
    """Another process's connections to the same database."""
    url = database.engine.url.render_as_string(hide_password=False)
    return open_database(Settings(database_url=url))


def test_what_is_written_before_during_and_after_an_upgrade_and_back_is_there(empty):
    migrate(empty, FIRST)
    first = Release(other(empty), "old")
    first.fill()
    before = counts(empty)

    with writing_on(first) as (during, _):
        eventually(lambda: during)
        assert migrate(empty) == head_revision()
        seen = len(during)
        eventually(lambda: len(during) > seen)
    now = Release(other(empty), "new")
    after = [now.write() for _ in range(20)]
    assert "key_id" in now.tables.tables["upload"].columns
    assert {f"upl_{name}" for name in (*during, *after)} <= ids(empty, "upload")

    assert migrate(empty, FIRST) == FIRST
    again = [first.write() for _ in range(20)]

    names = [f"first-{k}" for k in range(INCIDENTS)] + during + after + again
    assert ids(empty, "upload") == {f"upl_{name}" for name in names}
    assert ids(empty, "artifact") == {f"art_{name}_{k}" for name in names for k in range(FILES)}
    assert counts(empty) == before
    assert migrate(empty) == head_revision()
    assert ids(empty, "upload") == {f"upl_{name}" for name in names}
    for one in (first, now):
        one.database.close()


@pytest.fixture
def postgres() -> Iterator[Database]:
    """An empty database in PostgreSQL."""
    with postgres_database() as url:
        found = open_database(Settings(database_url=url))
        yield found
        found.close()


@contextmanager
def backup(database: Database) -> Iterator[None]:
    """Somebody reads all tables in one transaction, as ``pg_dump`` does, until the end."""
    reader = other(database)
    with reader.engine.connect() as connection:
        for name in inspect(connection).get_table_names():
            connection.execute(text(f'LOCK TABLE "{name}" IN ACCESS SHARE MODE'))
        yield
    reader.close()


def in_thread(do: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(do())
        except Exception as error:  # noqa: BLE001 - looked at by the test
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def test_nobody_waits_behind_a_migration_that_waits_for_a_backup(postgres: Database) -> None:
    migrate(postgres, "0008")
    release = Release(other(postgres), "old")
    release.fill()

    with writing_on(release) as (during, took_s):
        with backup(postgres):
            thread, found = in_thread(lambda: migrate(postgres))
            time.sleep(12.0)
            assert read_current_revision(postgres) == "0008"
            written = len(during)
        thread.join()

    assert found == [head_revision()]
    assert written
    # A wait for the lock lasts 0.9 s; a machine that others use too adds to it.
    assert max(took_s) < 6.0
    release.database.close()


def test_a_migration_that_never_gets_its_locks_says_what_to_do(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "PATIENCE_S", 0.0)
    migrate(postgres, "0008")

    with backup(postgres), pytest.raises(Unavailable, match="holds the database") as told:
        migrate(postgres)

    assert "a backup" in told.value.hint
    assert read_current_revision(postgres) == "0008"
    assert migrate(postgres) == head_revision()


@pytest.mark.parametrize("after", [1, 2, 3, 6, 8, 10])
def test_killed_in_the_middle_of_a_step_the_rest_is_made_afterwards(
    postgres: Database, after: int
) -> None:
    migrate(postgres, "0008")

    assert killed(postgres, after) == -signal.SIGKILL
    assert read_current_revision(postgres) == "0008"

    assert migrate(postgres) == head_revision()
    with postgres.reading() as session:
        broken = "SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid"
        assert session.execute(text(broken)).all() == []
    assert {"ix_upload_key_id", "ix_upload_blob_key"} <= {
        one["name"] for one in inspect(postgres.engine).get_indexes("upload")
    }
