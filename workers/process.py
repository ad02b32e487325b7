"""One worker process: its runner, and how it ends while work is being done."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from triage.queue.runner import Runner
from triage.queue.wakeups import CeleryWakeups
from triage.server.context import open_context
from triage.server.work import make_runner, open_readers
from triage.settings import load_settings

log = structlog.get_logger(__name__)

# Giving back what is held may take this long.
_RELEASE_S: Final = 4.0


class ShutdownRequested(BaseException):
    """The process is to end now; what it holds goes back into the queue."""


class _CurrentRunner:
    """The runner of this process, and how many threads use it; a fork starts without one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pid = 0
        self.runner: Runner | None = None
        self.num_busy = 0

    def get(self) -> Runner:
        """The runner; opened when this process has none yet."""
        with self.lock:
            if self.runner is None or self.pid != os.getpid():
                settings = load_settings()
                ctx = open_context(settings, CeleryWakeups(settings))
                return self.set(make_runner(ctx, open_readers(settings, 1)))
            return self.runner

    def set(self, runner: Runner) -> Runner:
        """Take this one."""
        self.runner, self.pid, self.num_busy = runner, os.getpid(), 0
        return runner

    @property
    def is_busy(self) -> bool:
        """Whether this very process does something now."""
        return self.pid == os.getpid() and self.num_busy > 0


_current: Final = _CurrentRunner()


def set_runner(runner: Runner) -> None:
    """Have the tasks of this process use this runner."""
    _current.set(runner)


@contextmanager
def run_process() -> Iterator[Runner]:
    """The runner of this process; a shutdown in the middle gives back what it holds, and ends."""
    runner = _current.get()
    _current.num_busy += 1
    try:
        yield runner
    except ShutdownRequested:
        log.info("stopped in mid-work, given back", rows=runner.release_all())
        os._exit(0)
    finally:
        _current.num_busy -= 1


def shut_down_on(signal_number: int) -> None:
    """From now on this signal makes the process give back what it holds, and end."""
    signal.signal(signal_number, _stop_now)


def _stop_now(signal_number: int, frame: object) -> None:  # noqa: ARG001 - the signal's form
    if not _current.is_busy:
        os._exit(0)
    # A database that does not answer must not keep the process; the leases run out then.
    last = threading.Timer(_RELEASE_S, os._exit, args=[1])
    last.daemon = True
    last.start()
    raise ShutdownRequested
