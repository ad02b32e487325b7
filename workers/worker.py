"""``triage worker``: Celery on Redis or RabbitMQ, with a stop that has an end.

A message wakes it; where none comes although work is due, the table is looked at without one.
After a broker was away, a Celery consumer may come back connected and yet take nothing any more,
without an error (celery/celery#8030, #8091, #8990): nothing here rests on it.

SIGTERM: no more is taken, what is being done may finish for a while, the rest goes back
into the line. A killed worker gives nothing back; then the leases run out.
"""

import argparse
import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import structlog
from celery import bootsteps, signals  # type: ignore[import-untyped]
from celery.worker import state  # type: ignore[import-untyped]

from triage.domain.states import WorkKind
from triage.errors import TriageError, UsageError
from triage.logging import configure_logging
from triage.queue.wakeups import CeleryWakeups, queue_name
from triage.sandbox.scratch import own_scratch
from triage.server.context import open_context
from triage.server.work import make_runner, open_readers
from triage.services.schema import check_schema
from triage.settings import Settings, load_settings
from workers.app import app
from workers.dispatcher import Dispatcher
from workers.liveness import beat
from workers.tasks import set_runner

log = structlog.get_logger(__name__)

# Seconds that work in progress may go on after SIGTERM; `docker stop` is given more.
_GRACE_S: Final = 20.0
_LAST_WORD_S: Final = 3.0
# The sweeper wakes every second; a message is received in milliseconds.
_QUIET_S: Final = 10.0
_CONNECT_S: Final = 2.0
_TICK_S: Final = 1.0
# Celery's loop connects and declares queues between two ticks.
STANDS_AFTER_S: Final = 30.0


class _Worker:
    """One ``triage worker``: a process with as many threads as it may do things at once.

    A loop of Celery that does not go round any more shows nothing of that. So the loop ticks; while
    it does, or waits for a broker that is away, the process beats (:mod:`workers.liveness`).
    """

    def __init__(self, settings: Settings, arguments: argparse.Namespace) -> None:
        self.settings = settings
        self.concurrency = int(arguments.concurrency or max(1, len(os.sched_getaffinity(0))))
        self.ctx = open_context(settings, CeleryWakeups(settings))
        self.readers = open_readers(settings, self.concurrency)
        self.runner = make_runner(self.ctx, self.readers)
        self.kinds = [WorkKind(kind) for kind in arguments.kind or list(WorkKind)]
        self.ticked_at = self.received_at = time.monotonic()
        self.dispatcher = Dispatcher(
            self.runner, self.concurrency, self.beat, kinds=self.kinds, is_wanted=self.is_quiet
        )

    def run(self) -> int:
        """Work until told to stop; the exit status."""
        signals.setup_logging.connect(_leave_logging, weak=False)
        signals.worker_shutting_down.connect(self.begin_stop, weak=False)
        signals.task_received.connect(self.note_message, weak=False)
        app.steps["consumer"].add(_make_ticking_step(self.tick))
        set_runner(self.runner)
        celery = app.Worker(
            hostname=f"triage-{os.getpid()}@{socket.gethostname()}",
            pool_cls="threads",
            concurrency=self.concurrency,
            queues=[queue_name(self.settings, kind) for kind in self.kinds],
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        beat()
        self.dispatcher.start()
        log.info("worker started", concurrency=self.concurrency, kinds=[*map(str, self.kinds)])
        gc.freeze()
        gc.enable()
        celery.start()
        self.dispatcher.stop(_GRACE_S)
        self.runner.release_all()
        self.readers.close()
        self.ctx.close()
        log.info("worker ended")
        return int(celery.exitcode or 0)

    def note_message(self, **_: object) -> None:
        """A message came."""
        self.received_at = time.monotonic()

    def tick(self) -> None:
        """Celery's loop went round."""
        self.ticked_at = time.monotonic()

    def beat(self) -> None:
        """The process goes round, unless its loop stands still and does not wait for a broker."""
        if time.monotonic() - self.ticked_at < STANDS_AFTER_S or not _can_reach_broker():
            beat()

    def is_quiet(self) -> bool:
        """Whether no message has come for so long that work is to be looked for."""
        return time.monotonic() - self.received_at >= _QUIET_S and not state.active_requests

    def begin_stop(self, **_: object) -> None:
        """Celery waits for what is being done, without end; this is the end."""
        self.runner.stopping.set()
        for after_s, action in ((_GRACE_S, self.stop_now), (_GRACE_S + _LAST_WORD_S, _give_up)):
            timer = threading.Timer(after_s, action)
            timer.daemon = True
            timer.start()

    def stop_now(self) -> None:
        """Time is up: what is held goes back."""
        self.runner.release_all()
        os._exit(0)


def _give_up() -> None:
    os._exit(1)


def _leave_logging(**_: object) -> None:
    """Celery sets up no logs of its own when somebody listens to this signal."""


def _make_ticking_step(tick: Callable[[], None]) -> type[bootsteps.StartStopStep]:
    """A step of Celery's consumer that has its loop call ``tick`` every second."""

    class Tick(bootsteps.StartStopStep):  # type: ignore[misc]
        requires = ("celery.worker.consumer.connection:Connection",)
        timer: Any = None

        def start(self, consumer: Any) -> None:  # noqa: ANN401 - untyped
            self.timer = consumer.timer.call_repeatedly(_TICK_S, tick)

        def stop(self, consumer: Any) -> None:  # noqa: ANN401, ARG002 - untyped
            if self.timer is not None:
                self.timer.cancel()

    return Tick


def _can_reach_broker() -> bool:
    try:
        with app.connection_for_read(connect_timeout=_CONNECT_S) as connection:
            connection.ensure_connection(max_retries=1, timeout=_CONNECT_S)
    except Exception as error:  # noqa: BLE001 - each transport raises its own
        log.info("the broker does not answer", why=str(error))
        return False
    return True


def main(arguments: list[str]) -> int:
    """Run with options; the settings come from the environment."""
    parser = argparse.ArgumentParser(prog="triage worker")
    parser.add_argument("--concurrency", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=[str(kind) for kind in WorkKind])
    options = parser.parse_args(arguments)
    try:
        settings = load_settings()
        configure_logging(settings)
        _check_broker(settings)
        check_schema(settings)
        own_scratch()
        return _Worker(settings, options).run()
    except TriageError as error:
        sys.stderr.write(f"triage: {error}\n")
        return 2


def _check_broker(settings: Settings) -> None:
    if settings.embedded_broker:
        raise UsageError(
            "TRIAGE_BROKER_URL is memory://, whose worker is the child of `triage serve`;"
            " set it to redis://... or amqp://..."
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
