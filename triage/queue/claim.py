"""A claim: rows of work that one worker holds until it finishes them, or its lease ends.

Whose fault an error is: that of our surroundings, which is waited for, or another's.

The database, the blob store, a folder of ours, memory and processes of this machine are what we
stand on. While one is away nothing that was taken in is at fault: its work waits as long as it
has to, and no try is counted. All other errors count: a reader that was lost may be lost to its
file, and what nobody thought of is a mistake of ours.
"""

import errno
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.errors import Refusal, StorageFull, TriageError, Unavailable
from triage.sandbox.errors import ReaderFailed, ReaderNotStarted
from triage.store.database.clock import follow_database
from triage.store.database.engine import Database
from triage.store.views import WorkView
from triage.store.work import table, waiting

THIS_MACHINE: Final = "this machine"
_TEMPORARY: Final = "the temporary folder"
# What a reader says of a file that it was given and cannot open or read.
_OF_FOLDERS: Final = frozenset(
    {"OSError", "FileNotFoundError", "PermissionError", "IsADirectoryError", "NotADirectoryError"}
)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def find_missing_service(error: BaseException | None) -> str | None:
    """What of our surroundings is not there; None where the error is not theirs."""
    if isinstance(error, Unavailable | StorageFull):
        return error.part or THIS_MACHINE
    if isinstance(error, ReaderNotStarted):
        return THIS_MACHINE
    if isinstance(error, ReaderFailed) and error.error in _OF_FOLDERS:
        return _TEMPORARY
    if isinstance(error, OSError):
        return _TEMPORARY if error.errno in _FULL else THIS_MACHINE
    if isinstance(error, MemoryError):
        return THIS_MACHINE
    return None


log = structlog.get_logger(__name__)
_RENEWALS: Final = 4


class LeaseLost(Exception):
    """Another worker was given the rows; nothing of this one's result was written."""


class Claim:
    """What a handler is given: the rows to do, and the transaction that ends them."""

    def __init__(self, database: Database, owner: str, rows: Sequence[WorkView]) -> None:
        self.database = database
        self.owner = owner
        self.rows = rows
        self.finished = False
        self.postponed: dict[str, Refusal] = {}

    @property
    def keys(self) -> list[str]:
        """What the rows are about: ids of uploads, of an incident, of a subscription."""
        return [row.key for row in self.rows]

    def postpone(self, key: str, error: Refusal) -> None:
        """Let the row of this key wait for our surroundings when the others are finished."""
        self.postponed[key] = error

    @contextmanager
    def finishing(self, again_at: datetime | None = None) -> Iterator[Session]:
        """The session in which the result is written; its commit ends the rows as well.

        With ``again_at`` they are due again then. Raises :class:`LeaseLost` before anything is
        written when another worker holds a row by now.
        """
        with self.database.writing() as session:
            now, owner = read_utc_now(), self.owner
            ended = [row for row in self.rows if row.key not in self.postponed]
            if not table.finish_all(session, ended, owner, now, again_at=again_at):
                raise LeaseLost
            for row in self.rows:
                error = self.postponed.get(row.key)
                if error is not None:
                    part = find_missing_service(error) or THIS_MACHINE
                    waiting.put_off(session, [row], owner, now, str(error), part)
            yield session
        self.finished = True

    def finish(self, again_at: datetime | None = None) -> None:
        """End the rows without a result; as :meth:`finishing`."""
        with self.finishing(again_at):
            pass


class Lease:
    """Renews a claim while its rows are done: a dead worker, or a dead machine, renews nothing."""

    def __init__(self, claim: Claim, lease_s: float) -> None:
        self.claim = claim
        self.lease_s = lease_s
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()

    def _renew(self) -> None:
        while not self.ended.wait(self.lease_s / _RENEWALS):
            try:
                with self.claim.database.writing() as session:
                    follow_database(session)
                    until = read_utc_now() + timedelta(seconds=self.lease_s)
                    kept = [
                        table.renew_lease(session, row.id, self.claim.owner, until)
                        for row in self.claim.rows
                    ]
                if not any(kept):
                    return
            except TriageError as error:
                log.warning("lease not renewed", why=str(error))
