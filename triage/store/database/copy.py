"""A copy of an SQLite database beside it, before something is done that cannot be taken back."""

import os
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

from triage.errors import UsageError
from triage.store.database.engine import Database

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
