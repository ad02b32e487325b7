"""One worker process: what it holds, and how a ring becomes work.

A ring says only that something of a kind is due: the row is chosen, claimed and finished
by :func:`triage.services.perform.perform`. So a ring that is lost, doubled or late is
harmless, and a task never fails for the fault of its item.
"""

import os
import signal
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from triage.domain.states import WorkKind
from triage.errors import Refusal
from triage.queue import CeleryDoorbell, task_name
from triage.services.context import Context, open_context
from triage.services.perform import Tools, open_tools, perform
from triage.settings import load_settings
from triage.store.work import release
from workers.app import app

__all__ = ["LetGo", "Station", "answer", "let_go_on", "set_station", "station", "task"]

log = structlog.get_logger(__name__)

# Giving back what is held may take so long.
LAST_WORD_S: Final = 4.0

Ring = Callable[[int], None]


class LetGo(BaseException):
    """The process is to end now; what it holds goes back into the line."""


class Station:
    """What one worker process holds: the database, the blobs, the readers.

    ``drains``: one ring is answered until nothing of its kind is due. That suits lanes,
    which keep the kinds apart; where all kinds share the places it would starve the others.
    ``finished`` is called after every ring.
    """

    def __init__(
        self,
        ctx: Context,
        tools: Tools,
        *,
        drains: bool = False,
        finished: Callable[[WorkKind], None] | None = None,
    ) -> None:
        self.ctx = ctx
        self.tools = tools
        self.drains = drains
        self.finished = finished
        self.num_busy = 0

    def answer(self, kind: WorkKind, work_id: int) -> bool:
        """Do the next due thing of this kind; False when there was none, or no database."""
        try:
            found = perform(self.ctx, self.tools, kind, work_id)
            while found and self.drains and perform(self.ctx, self.tools, kind):
                pass
            return found
        except Refusal as error:
            # The sweeper rings again; the lease runs out if one was taken.
            log.warning("not done now", kind=str(kind), why=error.detail)
            return False

    def give_back(self) -> int:
        """Claim nothing more, and put what is held back into the line; how many rows."""
        self.tools.stopping.set()
        try:
            with self.ctx.database.writing() as session:
                return release(session, self.tools.owner, datetime.now(UTC))
        except Refusal as error:
            log.warning("not given back, the leases run out", why=error.detail)
            return 0

    def close(self) -> None:
        """End the readers and the connections."""
        self.tools.close()
        self.ctx.close()


class Held:
    """The station of this process; a fork starts without one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pid = 0
        self.station: Station | None = None

    def get(self) -> Station:
        """The station, opened when this process has none yet."""
        with self.lock:
            if self.station is None or self.pid != os.getpid():
                settings = load_settings()
                ctx = open_context(settings, CeleryDoorbell(settings))
                return self.set(Station(ctx, open_tools(settings, readers=1)))
            return self.station

    def set(self, station: Station) -> Station:
        """Take this one."""
        self.station = station
        self.pid = os.getpid()
        return station


held: Final = Held()


def station() -> Station:
    """The station of this process."""
    return held.get()


def set_station(one: Station) -> None:
    """Rings of this process are answered at this station."""
    held.set(one)


def answer(kind: WorkKind, work_id: int) -> bool:
    """Answer a ring at the station of this process."""
    here = station()
    here.num_busy += 1
    try:
        return here.answer(kind, work_id)
    except LetGo:
        num_rows = here.give_back()
        log.info("stopped in mid-work, given back", rows=num_rows)
        os._exit(0)
    finally:
        here.num_busy -= 1
        if here.finished is not None:
            here.finished(kind)


def let_go_on(signal_number: int) -> None:
    """From now on this signal makes the process give back what it holds, and end."""
    signal.signal(signal_number, stop_now)


def stop_now(signal_number: int, frame: object) -> None:  # noqa: ARG001 - the signal's form
    if held.pid != os.getpid() or held.station is None or not held.station.num_busy:
        os._exit(0)
    # A database that does not answer must not keep the process; the leases run out then.
    last = threading.Timer(LAST_WORD_S, os._exit, args=[1])
    last.daemon = True
    last.start()
    raise LetGo


def task(kind: WorkKind) -> Callable[[Ring], Ring]:
    """Make a function the Celery task of a kind of work."""

    def register(function: Ring) -> Ring:
        app.task(name=task_name(kind))(function)
        return function

    return register
