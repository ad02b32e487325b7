"""The runner: claims the next due row, has its handler do it, and writes down how that ended.

A claim counts a try before anything is done. So work that kills its worker is known by the
number of its tries, and is quarantined when it has cost too many.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.clock import utc_now
from triage.domain.states import WorkKind
from triage.errors import TriageError
from triage.queue.claim import Claim, Lease, LeaseLost
from triage.settings import Settings
from triage.store.database.engine import Database
from triage.store.database.ids import new_id
from triage.store.views import WorkView
from triage.store.work import table

__all__ = ["GivenUp", "Handler", "Handlers", "Runner", "new_owner"]

log = structlog.get_logger(__name__)
# Uploads that are read in one go: the rows they cost are written in one go as well.
TOGETHER: Final = 8
TOGETHER_BYTES: Final = 32 << 20


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


def new_owner() -> str:
    """The name of this process on the rows that it claims."""
    return f"{socket.gethostname()}:{os.getpid()}:{new_id('w', utc_now())}"


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

    def run_once(self, kind: WorkKind) -> bool:
        """Do the next due row of this kind; False when there was none.

        Raises :class:`Unavailable` when the database cannot be asked for one.
        """
        if self.stopping.is_set():
            return False
        rows = self._claim(kind)
        if not rows:
            return False
        claim = Claim(self.database, self.owner, rows)
        about = {"kind": str(kind), "work_id": rows[0].id, "key": rows[0].key, "items": len(rows)}
        with structlog.contextvars.bound_contextvars(**about):
            with Lease(claim, self.settings.lease_s):
                error = self._attempt(claim)
            for row in rows if error is not None else ():
                self._failed(row, error or "")
        return True

    def release_all(self) -> int:
        """Claim nothing more, and give back all that is held; how many rows."""
        self.stopping.set()
        try:
            with self.database.writing() as session:
                return table.release(session, self.owner, utc_now())
        except TriageError as error:
            log.warning("not given back, the leases run out", why=str(error))
            return 0

    def _claim(self, kind: WorkKind) -> Sequence[WorkView]:
        lease_s, now = self.settings.lease_s, utc_now()
        with self.database.writing() as session:
            first = table.claim(session, kind, self.owner, now, lease_s)
            if first is None or not self.handlers[kind].together:
                return [] if first is None else [first]
            beside = table.claim_beside(
                session, first, self.owner, now, most=TOGETHER - 1, most_bytes=TOGETHER_BYTES
            )
            return [first, *beside]

    def _attempt(self, claim: Claim) -> str | None:
        """Do it; why not, if not."""
        try:
            self.handlers[claim.rows[0].kind].run(claim)
            if not claim.finished:
                claim.finish()
        except LeaseLost:
            log.warning("the lease had run out, and another worker may have the work")
        except TriageError as error:
            log.warning("work failed", why=str(error))
            return str(error)
        except Exception as error:  # the edge: the item fails, the worker goes on
            log.exception("work failed")
            return f"{type(error).__name__}: {error}"
        return None

    def _failed(self, row: WorkView, error: str) -> None:
        """Have it tried again later, or give it up."""
        try:
            with self.database.writing() as session:
                tries = self.settings.max_tries
                if table.fail(session, row, self.owner, utc_now(), error, tries):
                    self.given_up[row.kind](session, row.key, error)
        except TriageError as again:
            # Its lease runs out, and the sweeper takes it up.
            log.warning("the failure could not be written", why=str(again))
