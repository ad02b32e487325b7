"""The runner: claims the next due row, has its handler do it, and writes down how that ended.

A claim counts a try before anything is done. So work that kills its worker is known by the
number of its tries, and is given up when it has cost too many. What fails because our
surroundings are away gives its try back, and waits.

A claim: rows of work that one worker holds until it finishes them, or its lease ends.

Whose fault an error is: that of our surroundings, which is waited for, or another's.

The database, the blob store, a folder of ours, memory and processes of this machine are what we
stand on. While one is away nothing that was taken in is at fault: its work waits as long as it
has to, and no try is counted. All other errors count: a reader that was lost may be lost to its
file, and what nobody thought of is a mistake of ours.

The sweeper: what no wake-up told of, what dead workers held, and what the clock asks for.

Two sweepers do no harm: a row is claimed once, however often workers are woken for it.

A lease that has run out tells of a dead worker only where time and database went on evenly. After
a jump of the clock, or while the database was away, nobody could renew: then all get another lease.
"""

import errno
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final

import structlog
from sqlalchemy.orm import Session

from triage.clock import Jumps, read_steady_s, read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Refusal, StorageFull, TriageError, Unavailable
from triage.queue.wakeups import Wakeups
from triage.sandbox.errors import ReaderFailed, ReaderNotStarted
from triage.settings import Settings
from triage.store.database.clock import follow_database, watch_clock
from triage.store.database.engine import Database
from triage.store.database.ids import make_id
from triage.store.work import table

if TYPE_CHECKING:
    from models import Work

log = structlog.get_logger(__name__)
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


_RENEWALS: Final = 4


class LeaseLost(Exception):
    """Another worker was given the rows; nothing of this one's result was written."""


class Claim:
    """What a handler is given: the rows to do, and the transaction that ends them."""

    def __init__(self, database: Database, owner: str, rows: Sequence["Work"]) -> None:
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
                    table.put_off(session, [row], owner, now, str(error), part)
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


# Uploads that are read in one go: the rows they cost are written in one go as well.
_TOGETHER: Final = 8
_TOGETHER_BYTES: Final = 32 << 20
# A thread that found our surroundings away rests for so long: thousands of rows wait as well.
REST_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Handler:
    """How one kind of work is done.

    ``run`` ends the claim itself when it has a result to write; a claim that it leaves open is
    finished when it returns. ``together``: rows of one job are claimed together.
    """

    run: Callable[[Claim], None]
    together: bool = False


Handlers = Mapping[WorkKind, Handler]
# By kind, ``given_up(session, key, why)`` writes down what follows from a row that is quarantined.
GivenUp = Mapping[WorkKind, Callable[[Session, str, str], None]]


def make_owner_name() -> str:
    """The name of this process on the rows that it claims."""
    return f"{socket.gethostname()}:{os.getpid()}:{make_id('w', read_utc_now())}"


class Runner:
    """Does work of one process, for as many threads as call it; ``owner`` names the process."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        handlers: Handlers,
        given_up: GivenUp,
        owner: str,
    ) -> None:
        self.database = database
        self.settings = settings
        self.handlers = handlers
        self.given_up = given_up
        self.owner = owner
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.unwritten: list[tuple[Sequence[Work], Exception]] = []

    def run_once(self, kind: WorkKind) -> bool:
        """Do the next due row of this kind; False when there was none.

        Raises :class:`Unavailable` when the database cannot be asked for one.
        """
        if self.stopping.is_set():
            return False
        self._write_failures()
        rows = self._claim(kind)
        if not rows:
            return False
        claim = Claim(self.database, self.owner, rows)
        about = {"kind": str(kind), "work_id": rows[0].id, "key": rows[0].key, "items": len(rows)}
        with structlog.contextvars.bound_contextvars(**about):
            with Lease(claim, self.settings.lease_s):
                error = self._attempt(claim)
            if error is not None:
                self._failed(rows, error)
            elif claim.finished:
                self._release_waiting(claim)
        if find_missing_service(error) is not None:
            self.stopping.wait(REST_S)
        return True

    def release_all(self) -> int:
        """Claim nothing more, and give back all that is held; how many rows."""
        self.stopping.set()
        try:
            with self.database.writing() as session:
                return table.release(session, self.owner, read_utc_now())
        except TriageError as error:
            log.warning("not given back, the leases run out", why=str(error))
            return 0

    def _claim(self, kind: WorkKind) -> Sequence["Work"]:
        lease_s, now = self.settings.lease_s, read_utc_now()
        with self.database.writing() as session:
            first = table.claim(session, kind, self.owner, now, lease_s)
            if first is None or not self.handlers[kind].together:
                return [] if first is None else [first]
            beside = table.claim_beside(
                session, first, self.owner, now, most=_TOGETHER - 1, most_bytes=_TOGETHER_BYTES
            )
            return [first, *beside]

    def _attempt(self, claim: Claim) -> Exception | None:
        """Do it; why not, if not."""
        try:
            self.handlers[WorkKind(claim.rows[0].kind)].run(claim)
            if not claim.finished:
                claim.finish()
        except LeaseLost:
            log.warning("the lease had run out, and another worker may have the work")
        except Exception as error:  # the edge: the item fails, the worker goes on
            if find_missing_service(error) is not None or isinstance(error, TriageError):
                log.warning(
                    "work failed",
                    why=_describe_work_error(error),
                    waits_for=find_missing_service(error),
                )
            else:
                log.exception("work failed")
            return error
        return None

    def _failed(self, rows: Sequence["Work"], error: Exception) -> None:
        """Have them wait for our surroundings, tried again later, or given up."""
        part, why = find_missing_service(error), _describe_work_error(error)
        now, tries = read_utc_now(), self.settings.max_tries
        try:
            if part is not None:
                with self.database.writing() as session:
                    table.put_off(session, rows, self.owner, now, why, part)
                return
            for row in rows:
                with self.database.writing() as session:
                    if table.fail(session, row, self.owner, now, why, tries):
                        self.given_up[WorkKind(row.kind)](session, row.key, why)
        except TriageError as again:
            log.warning("the failure could not be written yet", why=str(again))
            with self.lock:
                self.unwritten.append((rows, error))

    def _write_failures(self) -> None:
        """Failures that the database was not there for: no try may be left counted by them."""
        with self.lock:
            owed, self.unwritten = self.unwritten, []
        for rows, error in owed:
            self._failed(rows, error)

    def _release_waiting(self, claim: Claim) -> None:
        """What one of these rows waited for is back: it is back for all others, too."""
        done = {row.waiting_for for row in claim.rows if row.key not in claim.postponed}
        for part in sorted(one for one in done if one is not None):
            log.info("our surroundings are back", part=part)
            try:
                with self.database.writing() as session:
                    table.release_waiting(session, part, read_utc_now())
            except TriageError as error:
                log.warning("what waits comes a little later", why=str(error))


def _describe_work_error(error: Exception) -> str:
    return str(error) if isinstance(error, TriageError) else f"{type(error).__name__}: {error}"


# The next round wakes for the others.
_MOST_WOKEN: Final = 1000
_ENQUEUE_EVERY_S: Final = 3600.0
_WATCH_EVERY_S: Final = 60.0
# Of a lease: a round this late, or this far from the monotonic clock, is a break.
_UNEVEN: Final = 0.25


class Evenness:
    """Whether a process saw time and database go on evenly for as long as a lease lasts."""

    def __init__(self, lease_s: float) -> None:
        self.lease_s = lease_s
        self.last: tuple[float, datetime] | None = None
        self.broken_s: float | None = None

    def look(self, at_s: float, now: datetime) -> bool:
        """One more round, at this moment of the monotonic and of the common clock."""
        if self.last is not None:
            passed_s = at_s - self.last[0]
            apart_s = (now - self.last[1]).total_seconds() - passed_s
            if max(passed_s, abs(apart_s)) > _UNEVEN * self.lease_s:
                self.broken_s = at_s
        self.last = (at_s, now)
        return self.broken_s is None or at_s - self.broken_s >= self.lease_s


class Sweeper:
    """One for each process that sweeps. ``periodic`` enqueue what is due by the clock."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        given_up: GivenUp,
        wakeups: Wakeups,
        periodic: Sequence[Callable[[Session, datetime], object]],
    ) -> None:
        self.database = database
        self.settings = settings
        self.given_up = given_up
        self.wakeups = wakeups
        self.periodic = periodic
        self.enqueue_at = 0.0
        self.watch_at = 0.0
        self.evenness = Evenness(settings.lease_s)
        self.jumps = Jumps()

    def sweep(self) -> int:
        """One round; how many rows are due. Raises :class:`Unavailable`."""
        self._watch()
        if time.monotonic() >= self.enqueue_at:
            with self.database.writing() as session:
                for enqueue in self.periodic:
                    enqueue(session, read_utc_now())
            self.enqueue_at = time.monotonic() + _ENQUEUE_EVERY_S
        if self.evenness.look(read_steady_s(), read_utc_now()):
            self.take_back()
        with self.database.reading() as session:
            due = table.list_due(session, read_utc_now(), list(WorkKind), _MOST_WOKEN)
        for kind, number in Counter(due).items():
            self.wakeups.notify(kind, number)
        return len(due)

    def _watch(self) -> None:
        """Go by the database's time, and say so when it is not to be believed."""
        if time.monotonic() < self.watch_at:
            with self.database.reading() as session:
                follow_database(session)
            return
        with self.database.writing() as session:
            follow_database(session)
            doubt = watch_clock(session, read_utc_now(), self.jumps.look())
        if doubt:
            log.warning("the clock is not to be believed", why=doubt)
        self.watch_at = time.monotonic() + _WATCH_EVERY_S

    def take_back(self) -> None:
        """Rows whose lease has run out wait again; those that cost too many are quarantined."""
        now = read_utc_now()
        with self.database.reading() as session:
            if not table.has_lost(session, now):
                return
        with self.database.writing() as session:
            for row in table.reclaim_lost(session, now, self.settings.max_tries):
                log.error("work quarantined", kind=str(row.kind), key=row.key, tries=row.tries)
                self.given_up[WorkKind(row.kind)](
                    session, row.key, row.last_error or "workers lost"
                )
