"""The runner: claims the next due row, has its handler do it, and writes down how that ended.

A claim counts a try before anything is done. So work that kills its worker is known by the
number of its tries, and is given up when it has cost too many. What fails because our
surroundings are away gives its try back, and waits (:mod:`triage.queue.claim`).
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import TriageError
from triage.queue.claim import Claim, Lease, LeaseLost, find_missing_service
from triage.settings import Settings
from triage.store.database.engine import Database
from triage.store.database.ids import make_id
from triage.store.views import WorkView
from triage.store.work import table, waiting

log = structlog.get_logger(__name__)
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
        self.unwritten: list[tuple[Sequence[WorkView], Exception]] = []

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

    def _claim(self, kind: WorkKind) -> Sequence[WorkView]:
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
            self.handlers[claim.rows[0].kind].run(claim)
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

    def _failed(self, rows: Sequence[WorkView], error: Exception) -> None:
        """Have them wait for our surroundings, tried again later, or given up."""
        part, why = find_missing_service(error), _describe_work_error(error)
        now, tries = read_utc_now(), self.settings.max_tries
        try:
            if part is not None:
                with self.database.writing() as session:
                    waiting.put_off(session, rows, self.owner, now, why, part)
                return
            for row in rows:
                with self.database.writing() as session:
                    if table.fail(session, row, self.owner, now, why, tries):
                        self.given_up[row.kind](session, row.key, why)
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
                    waiting.release(session, part, read_utc_now())
            except TriageError as error:
                log.warning("what waits comes a little later", why=str(error))


def _describe_work_error(error: Exception) -> str:
    return str(error) if isinstance(error, TriageError) else f"{type(error).__name__}: {error}"
