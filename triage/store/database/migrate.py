"""The database's revision: where it stands, and how it comes to another one.

A copy of an SQLite database beside it, before something is done that cannot be taken back.
"""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import OperationalError

from triage.errors import UsageError
from triage.store.database.engine import Database, translate_troubles

if TYPE_CHECKING:
    from alembic.config import Config
import os
import sqlite3
from contextlib import closing
from datetime import datetime

_FOLDER: Final = Path(__file__).resolve().parents[3] / "migrations"
# "triage" in ASCII: one migration at a time on one PostgreSQL server's database.
_LOCK: Final = 0x747269616765
_ASK_S: Final = 0.5
# While a step waits for a table, everybody who comes later waits behind it. Below the second
# after which PostgreSQL looks for deadlocks, so that of two the step gives way, not an upload.
_LOCK_S: Final = 0.9
# For those who waited meanwhile.
_PAUSE_S: Final = 2.0
# A backup of a large database takes that long.
PATIENCE_S: Final = 3600.0
# PostgreSQL: lock_not_available, deadlock_detected.
_HELD: Final = ("55P03", "40P01")
log = structlog.get_logger(__name__)


def head_revision() -> str:
    """The newest revision that this release knows."""
    return _list_revisions()[-1]


def list_known_revisions() -> set[str]:
    """All revisions that this release knows."""
    return set(_list_revisions())


def read_current_revision(database: Database) -> str | None:
    """The database's revision; None for an empty one."""
    with translate_troubles(), database.engine.connect() as connection:
        return _read_revision(connection)


def is_downgrade(present: str | None, to: str) -> bool:
    """Whether ``to`` lies before the present revision."""
    order = _list_revisions()
    if to == "base":
        return True
    return present in order and to in order and order.index(to) < order.index(present)


@functools.cache
def _list_revisions() -> list[str]:
    """All revisions that this release knows, oldest first: their files begin with them."""
    return sorted(path.name.partition("_")[0] for path in _FOLDER.glob("versions/[0-9]*.py"))


def _read_revision(connection: Connection) -> str | None:
    """The revision that alembic has written down. Starts read it without loading alembic."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def migrate(database: Database, to: str = "head") -> str:
    """Bring the database to a revision; the one it has then. Safe to call by two at once.

    In PostgreSQL each step up is a transaction of its own, and no step waits for a lock for
    longer than others can be held up behind it: it lets them go, and tries again. What waits
    behind a backup for ``PATIENCE_S`` is given up, and can be run again.

    Raises :class:`UsageError` for a revision that is none, and :class:`Unavailable` where the
    locks are not to be had.
    """
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(_FOLDER))
    with translate_troubles(), database.engine.connect() as connection:
        settings.attributes["connection"] = connection
        if database.sqlite:
            connection.execution_options(writes=True)
            _run(settings, connection, to)
            connection.commit()
        else:
            from triage.store.database.postgres import lift_statement_limit

            try:
                lift_statement_limit(connection)
                with _lock_migration(connection):
                    _run_with_lock_retries(connection, lambda: _run(settings, connection, to))
            finally:
                connection.invalidate()
    return read_current_revision(database) or "base"


@contextmanager
def _lock_migration(connection: Connection) -> Iterator[None]:
    """Nobody else migrates this database meanwhile.

    Asked for again and again: a session that waits inside the database is one that an index
    made beside the running service waits for, and neither would end.
    """
    while not connection.scalar(text(f"SELECT pg_try_advisory_lock({_LOCK})")):
        connection.rollback()
        time.sleep(_ASK_S)
    connection.commit()
    try:
        yield
    finally:
        connection.rollback()
        connection.execute(text(f"SELECT pg_advisory_unlock({_LOCK})"))
        connection.commit()


def _run_with_lock_retries(connection: Connection, do: Callable[[], None]) -> None:
    """Do it with a short wait for each lock, again and again while the locks are held."""
    connection.execute(text(f"SET lock_timeout = {_LOCK_S * 1000:.0f}"))
    connection.commit()
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            do()
            connection.commit()
            return
        except OperationalError as error:
            connection.rollback()
            state = getattr(error.orig, "sqlstate", None)
            if state not in _HELD or time.monotonic() > end:
                raise
            log.warning("a table is in use, tried again", why=str(error.orig).splitlines()[0])
            time.sleep(_PAUSE_S)


def _run(settings: "Config", connection: Connection, to: str) -> None:
    from alembic import command
    from alembic.util import CommandError

    present = _read_revision(connection)
    try:
        known = list_known_revisions()
        if present is not None and present not in known:
            raise UsageError(
                f"the database is at revision {present}, which this release does not know:"
                " it was migrated by a newer one; use that release"
            )
        wanted = head_revision() if to == "head" else to
        if wanted not in {*known, "base"}:
            raise UsageError(
                f"{to} is no revision; there are: base, {', '.join(_list_revisions())}"
            )
        back = is_downgrade(present, str(wanted))
        # What goes back loses rows: all of it or nothing. SQLite has no lock over several steps.
        if connection.dialect.name == "postgresql" and not back:
            connection.rollback()
        (command.downgrade if back else command.upgrade)(settings, str(wanted))
    except CommandError as error:
        raise UsageError(f"migration to {to}: {error}") from error


ROOM_BYTES = 64 << 20


def copy_sqlite(database: Database, present: str, now: datetime) -> Path | None:
    """One state of the whole database as a file of mode 0600, durable; None for one in memory.

    Raises :class:`UsageError` where there is no room for it, or it cannot be written.
    """
    name = database.engine.url.database
    if not name or not Path(name).exists():
        return None
    source = Path(name)
    copy = source.with_name(f"{source.stem}-before-{present}-{now:%Y%m%dT%H%M%S%f}.db")
    size = sum(one.stat().st_size for one in source.parent.glob(f"{source.name}*"))
    status = os.statvfs(source.parent)
    free = status.f_bavail * status.f_frsize
    if free < size + ROOM_BYTES:
        raise UsageError(
            f"before it is migrated {source} is copied, and {size:,} bytes do not fit into the"
            f" {free:,} that are free: free some, or make a backup elsewhere and run"
            " `triage migrate --no-copy`"
        )
    try:
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(source, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        for path in (copy, copy.parent):
            _make_durable(path)
    except (OSError, sqlite3.Error) as error:
        copy.unlink(missing_ok=True)
        raise UsageError(
            f"{source} cannot be copied before it is migrated ({error}): make a backup elsewhere"
            " and run `triage migrate --no-copy`"
        ) from error
    return copy


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
