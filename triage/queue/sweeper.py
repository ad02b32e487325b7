"""The sweeper: what no wake-up told of, what dead workers held, and what the clock asks for.

Two sweepers do no harm: a row is claimed once, however often workers are woken for it.

A lease that has run out tells of a dead worker only where time and database went on evenly. After
a jump of the clock, or while the database was away, nobody could renew: then all get another lease.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.clock import Jumps, read_steady_s, read_utc_now
from triage.domain.states import WorkKind
from triage.queue.runner import GivenUp
from triage.queue.wakeups import Wakeups
from triage.settings import Settings
from triage.store.database.clock import follow_database, watch_clock
from triage.store.database.engine import Database
from triage.store.work import overdue

log = structlog.get_logger(__name__)
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
            due = overdue.list_due(session, read_utc_now(), list(WorkKind), _MOST_WOKEN)
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
            if not overdue.has_lost(session, now):
                return
        with self.database.writing() as session:
            for row in overdue.reclaim_lost(session, now, self.settings.max_tries):
                log.error("work quarantined", kind=str(row.kind), key=row.key, tries=row.tries)
                self.given_up[row.kind](session, row.key, row.last_error or "workers lost")
