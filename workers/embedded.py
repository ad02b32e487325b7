"""The worker that ``triage serve`` keeps as its child: the same Celery tasks over ``memory://``.

Its standard input is the parent's pipe: a byte wakes it, the end of it means that the
parent is gone. Then, and on SIGTERM, it claims nothing more, waits a little for what it is
doing, gives the rest back, and ends.
"""

import os
import signal
import sys
import threading
from datetime import UTC, datetime
from typing import Final

import structlog

from triage.domain.states import WorkKind
from triage.errors import TriageError
from triage.logging import configure_logging
from triage.queue import PipeWakeups, celery_settings, queue_name, task_name
from triage.services.context import open_context
from triage.services.perform import open_tools
from triage.settings import Settings, load_settings
from triage.store.work import expire_owner
from workers.app import app
from workers.base import WorkerContext, set_worker_context
from workers.dispatcher import Dispatcher
from workers.slots import Slots, slots_for

__all__ = ["main"]

log = structlog.get_logger(__name__)

# What is being done may go on for so long: when asked to stop, and when the parent is gone.
GRACE_S: Final = 15.0
ORPHAN_GRACE_S: Final = 2.0
# A database that does not answer must not keep the process.
LAST_WORD_S: Final = 3.0


class Embedded:
    """The process: its slots, its dispatcher, its Celery worker."""

    def __init__(self, settings: Settings, num_parsers: int) -> None:
        self.settings = settings
        self.slots = Slots(slots_for(num_parsers))
        self.parent = os.getppid()
        self.stopping = threading.Event()
        self.wake = threading.Event()
        ctx = open_context(settings, wakeups=PipeWakeups(self.wake.set))
        self.dispatcher = Dispatcher(ctx, self.slots, self.wake, self.dispatch)
        # One reader more than parsers: an answer does not wait for a file.
        tools = open_tools(settings, readers=num_parsers + 1)
        self.context = WorkerContext(ctx, tools, drains=True, finished=self.dispatcher.done)

    def run(self) -> None:
        """Work until told to stop."""
        if self.settings.embedded_database:
            # Alone on this database: whatever is held, a process held that is dead.
            with self.context.ctx.database.writing() as session:
                expire_owner(session, "", datetime.now(UTC))
        set_worker_context(self.context)
        for name, work in (("parent", self.listen), ("dispatcher", self.dispatcher.run)):
            threading.Thread(target=work, name=name, daemon=True).start()
        threading.Thread(target=self.consume, name="celery", daemon=True).start()
        log.info("embedded worker started", parsers=self.slots.places[WorkKind.PARSE])
        self.stopping.wait()
        self.end()

    def dispatch(self, kind: WorkKind, row_id: int) -> None:
        """One wake-up, through the broker of this process."""
        app.send_task(task_name(kind), args=[row_id], queue=queue_name(self.settings, kind))

    def consume(self) -> None:
        """Celery takes wake-ups to the tasks, in threads."""
        worker = app.WorkController(
            pool_cls="threads",
            concurrency=sum(self.slots.places.values()),
            hostname="embedded",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        try:
            worker.start()
        finally:
            self.stopping.set()

    def listen(self) -> None:
        """Listen to the parent: a byte is a wake-up, the end of the pipe is its end."""
        while os.read(0, 4096):
            self.wake.set()
        self.stopping.set()

    def end(self) -> None:
        """Finish what can be finished soon, give the rest back, and end the process."""
        grace_s = GRACE_S if os.getppid() == self.parent else ORPHAN_GRACE_S
        last = threading.Timer(grace_s + LAST_WORD_S, os._exit, args=[1])
        last.daemon = True
        last.start()
        self.context.tools.stopping.set()
        self.dispatcher.stop()
        finished = self.slots.wait_empty(grace_s)
        num_rows = self.context.release_all()
        log.info("embedded worker ended", finished=finished, given_back=num_rows)
        # The threads of Celery are in no hurry; nothing of theirs is owed any more.
        os._exit(0)


def main(arguments: list[str]) -> int:
    """Run with the number of parsers; the settings come from the environment."""
    settings = load_settings(broker_url="memory://")
    configure_logging(settings)
    # A Ctrl-C in a terminal reaches the whole group; the parent says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        app.conf.update(celery_settings(settings))
        embedded = Embedded(settings, int(arguments[0]))
        signal.signal(signal.SIGTERM, lambda *_: embedded.stopping.set())
        embedded.run()
    except TriageError as error:
        log.error("embedded worker cannot start", why=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
