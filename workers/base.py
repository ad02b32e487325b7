"""One worker process: what it holds, and how a wake-up becomes work.

A wake-up says only that something of a kind is due: the row is chosen, claimed and finished
by :func:`triage.services.perform.perform`. So a wake-up that is lost, doubled or late is
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
from triage.queue import CeleryWakeups, task_name
from triage.services.context import Context, open_context
from triage.services.perform import Tools, open_tools, perform
from triage.settings import load_settings
from triage.store.work import release
from workers.app import app

__all__ = [
    "ShutdownRequested",
    "WorkerContext",
    "answer",
    "set_worker_context",
    "shut_down_on",
    "task",
    "worker_context",
]

log = structlog.get_logger(__name__)

# Giving back what is held may take so long.
LAST_WORD_S: Final = 4.0

Answer = Callable[[int], None]


class ShutdownRequested(BaseException):
    """The process is to end now; what it holds goes back into the queue."""


class WorkerContext:
    """What one worker process holds: the database, the blobs, the readers.

    ``drains``: one wake-up is answered until nothing of its kind is due. That suits slots,
    which keep the kinds apart; where all kinds share the places it would starve the others.
    ``finished`` is called after every wake-up.
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
            # The sweeper wakes again; the lease runs out if one was taken.
            log.warning("not done now", kind=str(kind), why=error.detail)
            return False

    def release_all(self) -> int:
        """Claim nothing more, and put what is held back into the queue; how many rows."""
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


class CurrentContext:
    """The context of this process; a fork starts without one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pid = 0
        self.context: WorkerContext | None = None

    def get(self) -> WorkerContext:
        """The context, opened when this process has none yet."""
        with self.lock:
            if self.context is None or self.pid != os.getpid():
                settings = load_settings()
                ctx = open_context(settings, CeleryWakeups(settings))
                return self.set(WorkerContext(ctx, open_tools(settings, readers=1)))
            return self.context

    def set(self, context: WorkerContext) -> WorkerContext:
        """Take this one."""
        self.context = context
        self.pid = os.getpid()
        return context


held: Final = CurrentContext()


def worker_context() -> WorkerContext:
    """The context of this process."""
    return held.get()


def set_worker_context(one: WorkerContext) -> None:
    """Wake-ups of this process are answered in this context."""
    held.set(one)


def answer(kind: WorkKind, work_id: int) -> bool:
    """Answer a wake-up in the context of this process."""
    here = worker_context()
    here.num_busy += 1
    try:
        return here.answer(kind, work_id)
    except ShutdownRequested:
        num_rows = here.release_all()
        log.info("stopped in mid-work, given back", rows=num_rows)
        os._exit(0)
    finally:
        here.num_busy -= 1
        if here.finished is not None:
            here.finished(kind)


def shut_down_on(signal_number: int) -> None:
    """From now on this signal makes the process give back what it holds, and end."""
    signal.signal(signal_number, stop_now)


def stop_now(signal_number: int, frame: object) -> None:  # noqa: ARG001 - the signal's form
    if held.pid != os.getpid() or held.context is None or not held.context.num_busy:
        os._exit(0)
    # A database that does not answer must not keep the process; the leases run out then.
    last = threading.Timer(LAST_WORD_S, os._exit, args=[1])
    last.daemon = True
    last.start()
    raise ShutdownRequested


def task(kind: WorkKind) -> Callable[[Answer], Answer]:
    """Make a function the Celery task of a kind of work."""

    def register(function: Answer) -> Answer:
        app.task(name=task_name(kind))(function)
        return function

    return register
