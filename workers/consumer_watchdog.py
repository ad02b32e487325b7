"""Looks after a Celery worker that receives no messages although work is due, or stands still.

After a broker was away, a Celery consumer may come back connected and yet take nothing
any more, without an error (celery/celery#8030, #8091, #8990; seen here with Redis killed
in a burst). The database knows better: rows are due, the broker answers, this worker is
idle, and no message has come for a while. Then it is restarted. Where the broker does not
answer, the master works from the table (:mod:`workers.dispatcher`).

A loop that does not go round any more shows nothing of that. So the loop ticks; while it does,
or waits for a broker that is away, the watchdog beats for the process (:mod:`workers.liveness`).
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final

import structlog
from celery import bootsteps, signals  # type: ignore[import-untyped]
from celery.worker import state  # type: ignore[import-untyped]

from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Refusal
from triage.services.context import Context
from triage.store.work.overdue import has_due
from workers.app import app
from workers.dispatcher import WithoutBroker
from workers.liveness import Liveness

log = structlog.get_logger(__name__)

# The sweeper wakes every second; a message is received in milliseconds.
_STALLED_AFTER_S: Final = 10.0
_LOOK_EVERY_S: Final = 2.0
_CONNECT_S: Final = 2.0
_TICK_S: Final = 1.0
# The loop forks, connects and declares queues between two ticks.
STANDS_AFTER_S: Final = 30.0


class ConsumerWatchdog:
    """Watches one worker from a thread of its master process."""

    def __init__(
        self,
        ctx: Context,
        kinds: Iterable[WorkKind],
        liveness: Liveness,
        without_broker: WithoutBroker,
    ) -> None:
        self.ctx = ctx
        self.without_broker = without_broker
        self.liveness = liveness
        self.ticked_at = time.monotonic()
        app.steps["consumer"].add(_make_ticking_step(self.ticked))
        self.kinds = list(kinds)
        self.received_at = time.monotonic()
        self.celery: Any = None
        signals.task_received.connect(self.received, weak=False)

    def start(self, celery: Any, stopping: threading.Event) -> None:  # noqa: ANN401 - untyped
        """Watch until the worker stops, which was made after this watchdog."""
        self.celery = celery
        self.liveness.start()
        watch = threading.Thread(
            target=self.run, args=[stopping], name="consumer-watchdog", daemon=True
        )
        watch.start()

    def received(self, **_: object) -> None:
        """A message came."""
        self.received_at = time.monotonic()

    def ticked(self) -> None:
        """The loop went round."""
        self.ticked_at = time.monotonic()

    def run(self, stopping: threading.Event) -> None:
        """Look every two seconds."""
        while not stopping.wait(_LOOK_EVERY_S):
            # Without a broker the loop waits for one, for as long as it takes.
            if time.monotonic() - self.ticked_at < STANDS_AFTER_S or not _can_reach_broker():
                self.liveness.beat()
            if not self.stalled() or stopping.is_set():
                continue
            if _can_reach_broker():
                log.warning("no message from the broker though work is due: restarting")
                self.restart()
            self.without_broker.work_until(self.broker_is_back, stopping)
            self.received_at = time.monotonic()

    def broker_is_back(self) -> bool:
        """Ask it, and say that this worker waits for it."""
        self.liveness.beat()
        return _can_reach_broker()

    def stalled(self) -> bool:
        """Whether a message should have been received by now, had the broker one to give."""
        if state.active_requests or time.monotonic() - self.received_at < _STALLED_AFTER_S:
            return False
        before = read_utc_now() - timedelta(seconds=_STALLED_AFTER_S)
        try:
            with self.ctx.database.reading() as session:
                return has_due(session, before, self.kinds)
        except Refusal:
            return False

    def restart(self) -> None:
        """The same command in the same process id; what the pool holds is let go first."""
        processes = getattr(getattr(self.celery.pool, "_pool", None), "_pool", None) or []
        for process in processes:
            pid = getattr(process, "pid", None)
            if pid is not None:
                os.kill(pid, signal.SIGTERM)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _make_ticking_step(ticked: Callable[[], None]) -> type[bootsteps.StartStopStep]:
    """A step of Celery's consumer that has its loop call ``ticked`` every second."""

    class Tick(bootsteps.StartStopStep):  # type: ignore[misc]
        requires = ("celery.worker.consumer.connection:Connection",)
        timer: Any = None

        def start(self, consumer: Any) -> None:  # noqa: ANN401 - untyped
            self.timer = consumer.timer.call_repeatedly(_TICK_S, ticked)

        def stop(self, consumer: Any) -> None:  # noqa: ANN401, ARG002 - untyped
            if self.timer is not None:
                self.timer.cancel()

    return Tick


def _can_reach_broker() -> bool:
    """Whether a connection can be made; without one, a restart would change nothing."""
    try:
        with app.connection_for_read(connect_timeout=_CONNECT_S) as connection:
            connection.ensure_connection(max_retries=1, timeout=_CONNECT_S)
    except Exception as error:  # noqa: BLE001 - each transport raises its own
        log.info("the broker does not answer", why=str(error))
        return False
    return True
