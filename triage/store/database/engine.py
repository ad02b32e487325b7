"""The database: one engine, sessions, and what differs between SQLite and PostgreSQL.

SQLite runs in WAL mode with full synchronisation: a commit is on disk before it returns.
Every session that will write takes the write lock first (``BEGIN IMMEDIATE``), so that
none finds out half way that another was quicker.
"""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import Session

from triage.domain.states import WorkKind
from triage.errors import UsageError
from triage.settings import Settings
from triage.store.database.sealing import SEALER, Sealer, make_sealer
from triage.store.database.troubles import find_refusal
from triage.store.private_files import make_file_private, make_private_folder

_BUSY_S: Final = 30.0
_DUE: Final = "work due"


def wake_after_commit(session: Session, kind: WorkKind) -> None:
    """Have a worker told, once this session is committed, that one more row of a kind is due."""
    session.info.setdefault(_DUE, Counter())[kind] += 1


def _wake_nobody(kind: WorkKind, number: int) -> None:
    """Leave the rows to the sweeper."""


class Database:
    """Sessions on one database; safe to share between threads.

    ``wake(kind, number)`` is called after a commit that made rows of work due; it must not wait.
    """

    def __init__(self, engine: Engine, sealer: Sealer | None = None) -> None:
        self.engine = engine
        self.info = {SEALER: sealer or Sealer()}
        self.wake: Callable[[WorkKind, int], None] = _wake_nobody
        self.sqlite = engine.dialect.name == "sqlite"
        # SQLite lets writers sleep and try again; the threads of one process stand in line.
        self.turn = threading.Lock() if self.sqlite else nullcontext()

    def session(self) -> Session:
        """A session that knows the keys of this database; nobody commits it."""
        return Session(self.engine, expire_on_commit=False, info=self.info)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that changes nothing."""
        with translate_troubles(), self.session() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session that is committed at the end, and rolled back when anything is raised.

        Raises :class:`Unavailable` when the database cannot write now, whatever the reason,
        and :class:`StorageFull` when it has no room; then nothing of it was kept.
        """
        with translate_troubles(), self.turn, self.session() as session:
            if self.sqlite:
                session.connection(execution_options={"writes": True})
            yield session
            session.commit()
        for kind, number in session.info.pop(_DUE, {}).items():
            self.wake(kind, number)

    def check(self) -> None:
        """Raises :class:`Unavailable` when the database does not answer."""
        with self.reading() as session:
            session.execute(text("SELECT 1"))

    def close(self) -> None:
        """End all connections; one that is in use ends when it is given back."""
        event.listen(self.engine, "checkin", _end_given_back)
        self.engine.dispose()


def _end_given_back(connection: Any, record: Any) -> None:  # noqa: ANN401
    """Nobody gets it out of a pool that is closed, and nobody else would end it."""
    if connection is not None:
        record.invalidate()


@contextmanager
def translate_troubles() -> Iterator[None]:
    """The database's own troubles as refusals; what is a mistake of ours stays as it is."""
    try:
        yield
    except SQLAlchemyError as error:
        refusal = find_refusal(error)
        if refusal is None:
            raise
        raise refusal from error


def open_database(settings: Settings) -> Database:
    """The database of these settings; nothing is connected yet.

    Raises :class:`UsageError` for an address that is none.
    """
    url = _make_address(settings)
    if url.get_backend_name() == "sqlite":
        if url.database:
            _keep_private(Path(url.database), settings)
        engine = create_engine(
            url,
            pool_size=16,
            max_overflow=48,
            pool_timeout=30,
            connect_args={"timeout": _BUSY_S, "check_same_thread": False},
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return Database(engine, make_sealer(settings))
    if url.get_backend_name() != "postgresql":
        raise UsageError(
            f"TRIAGE_DATABASE_URL: {url.get_backend_name()} is not supported;"
            " use postgresql+psycopg://... or leave it out for SQLite"
        )
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    from triage.store.database.postgres import make_postgres_engine

    engine = make_postgres_engine(url, settings.database_timeout_s)
    return Database(engine, make_sealer(settings))


def _make_address(settings: Settings) -> URL:
    try:
        return make_url(settings.database)
    except ArgumentError as error:
        raise UsageError(
            "TRIAGE_DATABASE_URL is no database address: try postgresql+psycopg://user@host/name"
        ) from error


def open_for_reading(settings: Settings) -> Database:
    """The same database, in which nothing can be changed: neither rows nor modes of files.

    Raises :class:`UsageError` for an address that is none.
    """
    url = _make_address(settings)
    if url.get_backend_name() != "sqlite":
        database = open_database(settings)
        event.listen(database.engine, "begin", _begin_read_only)
        return database
    # Without a log beside it, nobody writes; and then its folder need not be writable either.
    alone = not Path(f"{url.database}-wal").exists()
    mode = "immutable=1" if alone else "mode=ro"
    engine = create_engine(
        f"sqlite:///file:{quote(url.database or '')}?{mode}&uri=true",
        connect_args={"timeout": _BUSY_S, "check_same_thread": False},
    )
    return Database(engine)


def _begin_read_only(connection: Any) -> None:  # noqa: ANN401
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")


def _keep_private(path: Path, settings: Settings) -> None:
    """Nobody else reads or locks SQLite's files; the data directory is ours as a whole."""
    if settings.embedded_database:
        make_private_folder(settings.data_dir)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    for suffix in ("", "-wal", "-shm", "-journal"):
        make_file_private(path.with_name(path.name + suffix))


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:  # noqa: ARG001
    """WAL for readers beside the writer, FULL so that a commit is on disk, keys enforced."""
    connection.isolation_level = None  # transactions are begun by `begin_sqlite`, not by sqlite3
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        f"busy_timeout={_BUSY_S * 1000:.0f}",
        "temp_store=MEMORY",
        "cache_size=-16384",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:  # noqa: ANN401
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
