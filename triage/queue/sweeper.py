"""The sweeper: what no wake-up told of, what dead workers held, and what the clock asks for.

Two sweepers do no harm: a row is claimed once, however often workers are woken for it.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.clock import utc_now
from triage.domain.states import WorkKind
from triage.queue.runner import GivenUp
from triage.queue.wakeups import Wakeups
from triage.settings import Settings
from triage.store.database.engine import Database
from triage.store.work import overdue

__all__ = ["Sweeper"]

log = structlog.get_logger(__name__)
# The next round wakes for the others.
MOST_WOKEN: Final = 1000
ENQUEUE_EVERY_S: Final = 3600.0


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

    def sweep(self) -> int:
        """One round; how many rows are due. Raises :class:`Unavailable`."""
        if time.monotonic() >= self.enqueue_at:
            with self.database.writing() as session:
                for enqueue in self.periodic:
                    enqueue(session, utc_now())
            self.enqueue_at = time.monotonic() + ENQUEUE_EVERY_S
        self._take_back()
        with self.database.reading() as session:
            due = overdue.due(session, utc_now(), list(WorkKind), MOST_WOKEN)
        for kind, number in Counter(due).items():
            self.wakeups.notify(kind, number)
        return len(due)

    def _take_back(self) -> None:
        """Rows whose lease has run out wait again; those that cost too many are quarantined."""
        now = utc_now()
        with self.database.reading() as session:
            if not overdue.any_lost(session, now):
                return
        with self.database.writing() as session:
            for row in overdue.lost(session, now, self.settings.max_tries):
                log.error("work quarantined", kind=str(row.kind), key=row.key, tries=row.tries)
                self.given_up[row.kind](session, row.key, row.last_error or "workers lost")
