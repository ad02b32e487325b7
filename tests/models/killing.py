"""Migrating in a process of its own that may be killed on the way.

The processes are forks of one that has imported what a migration needs: of each that were
started anew, importing would be most of the time.
"""

import os
import signal
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from sqlalchemy import event

from triage.settings import Settings
from triage.store.database.engine import Database, open_database
from triage.store.database.migrate import migrate

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload([__name__, "psycopg", "sqlalchemy.dialects.postgresql.psycopg"])
CHANGES = ("CREATE", "DROP", "INSERT INTO ALEMBIC")


def migrate_until(address: str, after: int, to: str) -> None:
    """Migrate, and stop for good after so many statements that change a table; never for -1."""
    database = open_database(Settings(database_url=address))
    left = after

    @event.listens_for(database.engine, "after_cursor_execute")
    def count(_connection, _cursor, statement, *_rest) -> None:
        nonlocal left
        if statement.lstrip().upper().startswith(CHANGES):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    migrate(database, to)


def migrating(database: Database, after: int = -1, to: str = "head") -> BaseProcess:
    """A process that migrates the database; it is started."""
    address = database.engine.url.render_as_string(hide_password=False)
    process = FORKS.Process(target=migrate_until, args=(address, after, to))
    process.start()
    return process


def killed(database: Database, after: int, to: str = "head") -> int | None:
    """The exit status of a process that is killed after so many statements."""
    process = migrating(database, after, to)
    process.join(300)
    return process.exitcode
