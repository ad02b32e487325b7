"""Looks at the table of work and dispatches what is due, as far as the slots have room.

It looks when it is woken, when a place becomes free, and from time to time: often while
there is something to do, seldom when there is not.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from triage.domain.states import WorkKind
from triage.errors import Refusal
from triage.services.context import Context
from triage.services.periodic_jobs import PeriodicJobs
from triage.store.work import due
from workers.slots import Slots

__all__ = ["Dispatcher"]

log = structlog.get_logger(__name__)

BUSY_EVERY_S: Final = 0.05
IDLE_EVERY_S: Final = 0.5
# So long after the last thing to do it counts as idle.
BUSY_FOR_S: Final = 2.0
SWEEP_EVERY_S: Final = 1.0


class Dispatcher:
    """A loop for a thread of its own; ``wake`` wakes it, ``dispatch`` sends a row to the tasks."""

    def __init__(
        self,
        ctx: Context,
        slots: Slots,
        wake: threading.Event,
        dispatch: Callable[[WorkKind, int], None],
    ) -> None:
        self.ctx = ctx
        self.house = PeriodicJobs(ctx)
        self.slots = slots
        self.dispatch = dispatch
        self.wake = wake
        self.stopping = threading.Event()
        self.busy_until = 0.0
        self.sweep_at = 0.0

    def done(self, kind: WorkKind) -> None:
        """A row was done: its place is free, and something may have become due by it."""
        self.slots.give(kind)
        self.wake.set()

    def stop(self) -> None:
        """Dispatch nothing more."""
        self.stopping.set()
        self.wake.set()

    def run(self) -> None:
        """Feed until :meth:`stop`; a database that is away is tried again."""
        while not self.stopping.is_set():
            busy = time.monotonic() < self.busy_until
            if self.wake.wait(BUSY_EVERY_S if busy else IDLE_EVERY_S):
                self.wake.clear()
            try:
                self.look()
            except Refusal as error:
                log.warning("the table of work cannot be read", why=error.detail)
                self.stopping.wait(1.0)

    def look(self) -> None:
        """Sweep when it is time, then dispatch what is due."""
        now = time.monotonic()
        if now >= self.sweep_at:
            self.sweep_at = now + SWEEP_EVERY_S
            self.house.sweep()
        free = self.slots.free()
        if not free:
            return
        with self.ctx.database.reading() as session:
            # So many of a kind that stands first in line leave no row for another: all of it
            # is in the slots then, and the next look is at the others.
            rows = due(session, datetime.now(UTC), list(free), sum(free.values()))
        if rows:
            self.busy_until = time.monotonic() + BUSY_FOR_S
        for kind, row_id in rows:
            if not self.stopping.is_set() and self.slots.take(kind):
                self.dispatch(kind, row_id)
