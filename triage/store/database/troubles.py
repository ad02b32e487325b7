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


class _Trouble(NamedTuple):
    """How one kind of trouble is told."""

    detail: str
    hint: str
    refusal: type[Refusal] = Unavailable
    retry_after_s: int | None = None
    """None: what is usual for the refusal."""


_DATABASE: Final = "the database"
# Until somebody has done something about it.
_LATER_S: Final = 30

_UNREACHABLE: Final = _Trouble(
    "the database does not answer", "send it again; `triage doctor` says what it sees"
)
_WENT_AWAY: Final = _Trouble("the database went away", "send it again")
_STARTING: Final = _Trouble("the database is starting or stopping", "send it again")
_FULL: Final = _Trouble(
    "the database has no room left", "free space on its disk, then send it again", StorageFull
)
_LOCKED: Final = _Trouble(
    "somebody else holds the database, or rows of it, for too long",
    "send it again; end what holds it: a shell, a backup, an open transaction (PostgreSQL:"
    " pg_stat_activity and pg_locks)",
)
_CROSSED: Final = _Trouble(
    "two writes wanted the same rows in each other's way", "send it again; nothing was kept"
)
_TOO_LONG: Final = _Trouble(
    "the database ended a statement that took too long",
    "send it again; if it stays so, raise its statement_timeout for the service's user",
)
_READ_ONLY: Final = _Trouble(
    "the database can only be read",
    "SQLite: let the service's user write to the file and its folder, on a disk mounted rw;"
    " PostgreSQL: name the primary, not a standby, in TRIAGE_DATABASE_URL",
    retry_after_s=_LATER_S,
)
_NO_FILE: Final = _Trouble(
    "the database's file cannot be opened",
    "see that its folder is there and the service's user may read and write it",
    retry_after_s=_LATER_S,
)
_BAD_DISK: Final = _Trouble(
    "the disk of the database fails",
    "look for errors of it in the kernel's log, and make a backup elsewhere",
    retry_after_s=_LATER_S,
)
_DAMAGED: Final = _Trouble(
    "the database file is damaged, or none of SQLite's",
    "put back the latest backup; `sqlite3 .recover` may read the damaged one",
    retry_after_s=_LATER_S,
)
_NOT_MIGRATED: Final = _Trouble(
    "the database lacks a table or a column that this release needs",
    "run `triage migrate` with the service's settings",
    retry_after_s=_LATER_S,
)
_NO_CONNECTION_LEFT: Final = _Trouble(
    "no connection to the database is free",
    "send it again; if it stays so, raise PostgreSQL's max_connections or run fewer processes",
)
_OUT_OF_MEMORY: Final = _Trouble("the database is out of memory", "send it again a little later")
_NOT_LET_IN: Final = _Trouble(
    "the database does not let the service in",
    "check user, password and database in TRIAGE_DATABASE_URL, and pg_hba.conf",
    retry_after_s=_LATER_S,
)

# By the primary result code.
_SQLITE: Final = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_NOMEM: _OUT_OF_MEMORY,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_IOERR: _BAD_DISK,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CANTOPEN: _NO_FILE,
}
# By the code, else by its class, the first two characters.
_POSTGRES: Final = {
    "40": _CROSSED,
    "55P03": _LOCKED,
    "25006": _READ_ONLY,
    "25P03": _WENT_AWAY,
    "57014": _TOO_LONG,
    "57P": _STARTING,
    "53100": _FULL,
    "53200": _OUT_OF_MEMORY,
    "53300": _NO_CONNECTION_LEFT,
    "28": _NOT_LET_IN,
    "3D000": _NOT_LET_IN,
    "42P01": _NOT_MIGRATED,
    "42703": _NOT_MIGRATED,
    "58030": _BAD_DISK,
}
_WORDS: Final = (
    ("database or disk is full", _FULL),
    ("No space left", _FULL),
    ("could not extend file", _FULL),
    ("no such table", _NOT_MIGRATED),
    ("no such column", _NOT_MIGRATED),
    ("has no column named", _NOT_MIGRATED),
    ("too many clients already", _NO_CONNECTION_LEFT),
    ("remaining connection slots are reserved", _NO_CONNECTION_LEFT),
    ("the database system is", _STARTING),
    ("authentication failed", _NOT_LET_IN),
    ("no pg_hba.conf entry", _NOT_LET_IN),
    ("does not exist", _NOT_LET_IN),
)


def find_refusal(error: Exception) -> Refusal | None:
    """How an error of SQLAlchemy is answered; None for one that is a mistake of ours."""
    found = _find_trouble(error)
    if found is None:
        return None
    return found.refusal(
        found.detail, hint=found.hint, retry_after_s=found.retry_after_s, part=_DATABASE
    )


def _find_trouble(error: Exception) -> _Trouble | None:
    if isinstance(error, PoolTimeout):
        return _NO_CONNECTION_LEFT
    if isinstance(error, DisconnectionError):
        return _WENT_AWAY
    if not isinstance(error, DBAPIError):
        return None
    known = _find_trouble_by_code(error.orig)
    if known is not None:
        return known
    if isinstance(error, OperationalError | InterfaceError):
        text = str(error.orig)
        return next((one for words, one in _WORDS if words in text), _UNREACHABLE)
    if type(error) is DatabaseError and isinstance(error.orig, sqlite3.DatabaseError):
        return _DAMAGED
    return _WENT_AWAY if error.connection_invalidated else None


def _find_trouble_by_code(error: BaseException | None) -> _Trouble | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code & 0xFF)
    state = getattr(error, "sqlstate", None) or ""
    return _POSTGRES.get(state) or _POSTGRES.get(state[:3]) or _POSTGRES.get(state[:2])
