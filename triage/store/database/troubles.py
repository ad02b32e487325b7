"""What is the matter with the database, by the error of its driver, and what to do about it.

Told apart are those troubles of which the next step differs: one that ends by itself, a disk,
a right, a setting. SQLite says which by a code, PostgreSQL by its SQLSTATE; to who is refused a
connection it says only words, and those only in its log's language.
"""

import sqlite3
from typing import Final, NamedTuple

from sqlalchemy.exc import (
    DatabaseError,
    DBAPIError,
    DisconnectionError,
    InterfaceError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from triage.errors import Refusal, StorageFull, Unavailable

__all__ = ["refusal_of"]


class Trouble(NamedTuple):
    """How one kind of trouble is told."""

    detail: str
    hint: str
    refusal: type[Refusal] = Unavailable
    retry_after_s: int | None = None
    """None: what is usual for the refusal."""


DATABASE: Final = "the database"
# Until somebody has done something about it.
LATER_S: Final = 30

UNREACHABLE: Final = Trouble(
    "the database does not answer", "send it again; `triage doctor` says what it sees"
)
WENT_AWAY: Final = Trouble("the database went away", "send it again")
STARTING: Final = Trouble("the database is starting or stopping", "send it again")
FULL: Final = Trouble(
    "the database has no room left", "free space on its disk, then send it again", StorageFull
)
LOCKED: Final = Trouble(
    "somebody else holds the database, or rows of it, for too long",
    "send it again; end what holds it: a shell, a backup, an open transaction (PostgreSQL:"
    " pg_stat_activity and pg_locks)",
)
CROSSED: Final = Trouble(
    "two writes wanted the same rows in each other's way", "send it again; nothing was kept"
)
TOO_LONG: Final = Trouble(
    "the database ended a statement that took too long",
    "send it again; if it stays so, raise its statement_timeout for the service's user",
)
READ_ONLY: Final = Trouble(
    "the database can only be read",
    "SQLite: let the service's user write to the file and its folder, on a disk mounted rw;"
    " PostgreSQL: name the primary, not a standby, in TRIAGE_DATABASE_URL",
    retry_after_s=LATER_S,
)
NO_FILE: Final = Trouble(
    "the database's file cannot be opened",
    "see that its folder is there and the service's user may read and write it",
    retry_after_s=LATER_S,
)
BAD_DISK: Final = Trouble(
    "the disk of the database fails",
    "look for errors of it in the kernel's log, and make a backup elsewhere",
    retry_after_s=LATER_S,
)
DAMAGED: Final = Trouble(
    "the database file is damaged, or none of SQLite's",
    "put back the latest backup; `sqlite3 .recover` may read the damaged one",
    retry_after_s=LATER_S,
)
NOT_MIGRATED: Final = Trouble(
    "the database lacks a table or a column that this release needs",
    "run `triage migrate` with the service's settings",
    retry_after_s=LATER_S,
)
NO_CONNECTION_LEFT: Final = Trouble(
    "no connection to the database is free",
    "send it again; if it stays so, raise PostgreSQL's max_connections or run fewer processes",
)
OUT_OF_MEMORY: Final = Trouble("the database is out of memory", "send it again a little later")
NOT_LET_IN: Final = Trouble(
    "the database does not let the service in",
    "check user, password and database in TRIAGE_DATABASE_URL, and pg_hba.conf",
    retry_after_s=LATER_S,
)

# By the primary result code.
SQLITE: Final = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_NOMEM: OUT_OF_MEMORY,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_PERM: READ_ONLY,
    sqlite3.SQLITE_IOERR: BAD_DISK,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_CANTOPEN: NO_FILE,
}
# By the code, else by its class, the first two characters.
POSTGRES: Final = {
    "40": CROSSED,
    "55P03": LOCKED,
    "25006": READ_ONLY,
    "25P03": WENT_AWAY,
    "57014": TOO_LONG,
    "57P": STARTING,
    "53100": FULL,
    "53200": OUT_OF_MEMORY,
    "53300": NO_CONNECTION_LEFT,
    "28": NOT_LET_IN,
    "3D000": NOT_LET_IN,
    "42P01": NOT_MIGRATED,
    "42703": NOT_MIGRATED,
    "58030": BAD_DISK,
}
WORDS: Final = (
    ("database or disk is full", FULL),
    ("No space left", FULL),
    ("could not extend file", FULL),
    ("no such table", NOT_MIGRATED),
    ("no such column", NOT_MIGRATED),
    ("has no column named", NOT_MIGRATED),
    ("too many clients already", NO_CONNECTION_LEFT),
    ("remaining connection slots are reserved", NO_CONNECTION_LEFT),
    ("the database system is", STARTING),
    ("authentication failed", NOT_LET_IN),
    ("no pg_hba.conf entry", NOT_LET_IN),
    ("does not exist", NOT_LET_IN),
)


def refusal_of(error: Exception) -> Refusal | None:
    """How an error of SQLAlchemy is answered; None for one that is a mistake of ours."""
    found = trouble_of(error)
    if found is None:
        return None
    return found.refusal(
        found.detail, hint=found.hint, retry_after_s=found.retry_after_s, part=DATABASE
    )


def trouble_of(error: Exception) -> Trouble | None:
    if isinstance(error, PoolTimeout):
        return NO_CONNECTION_LEFT
    if isinstance(error, DisconnectionError):
        return WENT_AWAY
    if not isinstance(error, DBAPIError):
        return None
    known = by_code(error.orig)
    if known is not None:
        return known
    if isinstance(error, OperationalError | InterfaceError):
        text = str(error.orig)
        return next((one for words, one in WORDS if words in text), UNREACHABLE)
    if type(error) is DatabaseError and isinstance(error.orig, sqlite3.DatabaseError):
        return DAMAGED
    return WENT_AWAY if error.connection_invalidated else None


def by_code(error: BaseException | None) -> Trouble | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return SQLITE.get(code & 0xFF)
    state = getattr(error, "sqlstate", None) or ""
    return POSTGRES.get(state) or POSTGRES.get(state[:3]) or POSTGRES.get(state[:2])
