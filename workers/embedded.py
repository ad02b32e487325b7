"""The worker that ``triage serve`` keeps as its child.

Its standard input is the parent's pipe: a byte wakes it, the end of it means that the
parent is gone. Then, and on SIGTERM, it claims nothing more, waits a little for what it is
doing, gives the rest back, and ends.
"""

import gc
import os
import signal
import sys
import threading
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.errors import TriageError
from triage.logging import configure_logging
from triage.queue.wakeups import PipeWakeups
from triage.sandbox.scratch import own_scratch
from triage.server.context import open_context
from triage.server.work import make_runner, make_sweeper, open_readers
from triage.settings import Settings, load_settings
from triage.store.work.table import expire_owner
from workers.dispatcher import Dispatcher
from workers.liveness import notify_supervisor

log = structlog.get_logger(__name__)

# Seconds that work in progress may go on: when asked to stop, and when the parent is gone.
_GRACE_S: Final = 15.0
_ORPHAN_GRACE_S: Final = 2.0
# A database that does not answer must not keep the process.
_RELEASE_S: Final = 3.0


class _Embedded:
    """The process: a runner, a dispatcher with its threads, and an ear on the parent's pipe."""

    def __init__(self, settings: Settings, num_parsers: int) -> None:
        self.settings = settings
        self.parent = os.getppid()
        self.stopping = threading.Event()
        ctx = open_context(settings, PipeWakeups(self.wake))
        # One reader more than parsers: an answer does not wait for a file.
        self.runner = make_runner(ctx, open_readers(settings, num_parsers + 1))
        self.sweeper = make_sweeper(ctx)
        self.dispatcher = Dispatcher(
            self.runner, num_parsers, notify_supervisor, sweeper=self.sweeper
        )

    def wake(self) -> None:
        """Look at the table at once."""
        self.dispatcher.wake.set()

    def run(self) -> None:
        """Work until told to stop."""
        if self.settings.embedded_database:
            # Alone on this database: whatever is held, a process held that is dead.
            with self.runner.database.writing() as session:
                expire_owner(session, "", read_utc_now())
            self.sweeper.take_back()
        threading.Thread(target=self.listen, name="parent", daemon=True).start()
        self.dispatcher.start()
        log.info("embedded worker started")
        gc.freeze()
        gc.enable()
        self.stopping.wait()
        self.end()

    def listen(self) -> None:
        """Listen to the parent: a byte is a wake-up, the end of the pipe is its end."""
        while os.read(0, 4096):
            self.wake()
        self.stopping.set()

    def end(self) -> None:
        """Finish what can be finished soon, give the rest back, and end the process."""
        grace_s = _GRACE_S if os.getppid() == self.parent else _ORPHAN_GRACE_S
        last = threading.Timer(grace_s + _RELEASE_S, os._exit, args=[1])
        last.daemon = True
        last.start()
        finished = self.dispatcher.stop(grace_s)
        num_rows = self.runner.release_all()
        log.info("embedded worker ended", finished=finished, given_back=num_rows)
        # Threads that are not done hold nothing any more: another process does their rows.
        os._exit(0)


def main(arguments: list[str]) -> int:
    """Run with the number of parsers; the settings come from the environment."""
    settings = load_settings()
    configure_logging(settings)
    # A Ctrl-C in a terminal reaches the whole group; the parent says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        own_scratch()
        embedded = _Embedded(settings, int(arguments[0]))
        signal.signal(signal.SIGTERM, lambda *_: embedded.stopping.set())
        embedded.run()
    except TriageError as error:
        log.error("embedded worker cannot start", why=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
