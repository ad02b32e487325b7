"""``triage worker``: Celery on Redis or RabbitMQ, with a stop that has an end.

As the child of ``triage serve`` it works in threads, sweeps too, and ends when the pipe from
its parent does.

SIGTERM: no more is taken, what is being done may finish for a while, the rest goes back
into the line. A killed worker gives nothing back; then the leases run out.
"""

import argparse
import os
import signal
import socket
import sys
import threading
from dataclasses import replace
from typing import Any, Final

import structlog
from celery import signals  # type: ignore[import-untyped]

from triage.domain.states import WorkKind
from triage.errors import TriageError, UsageError
from triage.logging import configure_logging
from triage.queue.wakeups import CeleryWakeups, DedupWakeups, queue_name
from triage.sandbox.scratch import own_scratch
from triage.server.context import open_context
from triage.server.work import make_runner, open_readers
from triage.services.schema import check_schema
from triage.settings import Settings, load_settings
from workers.app import app
from workers.child import end_with_parent
from workers.consumer_watchdog import ConsumerWatchdog
from workers.dispatcher import WithoutBroker
from workers.liveness import Liveness, notify_supervisor
from workers.process import set_runner, shut_down_on
from workers.scheduler import run as sweep_until

log = structlog.get_logger(__name__)

# Seconds that work in progress may go on after SIGTERM; `docker stop` is given more.
_GRACE_S: Final = 20.0
_ORPHAN_GRACE_S: Final = 2.0
_LAST_WORD_S: Final = 3.0


class _Worker:
    """One ``triage worker``: a master with processes, or with threads."""

    def __init__(self, settings: Settings, arguments: argparse.Namespace) -> None:
        self.settings = settings
        self.is_child = bool(arguments.child)
        self.concurrency = int(arguments.concurrency or max(1, len(os.sched_getaffinity(0))))
        self.ctx = open_context(settings, CeleryWakeups(settings))
        self.readers = open_readers(settings, self.concurrency)
        # Threads share the runner of this process; each process of a pool makes its own.
        threads = self.is_child or arguments.pool == "threads"
        self.runner = make_runner(self.ctx, self.readers) if threads else None
        self.kinds = [WorkKind(kind) for kind in arguments.kind or list(WorkKind)]
        self.without_broker = WithoutBroker(self.ctx, self.readers, self.kinds, self.concurrency)
        self.master = os.getpid()
        self.parent = os.getppid()
        self.stopping = threading.Event()
        self.celery: Any = None
        self.liveness = Liveness(self.ctx, "worker")

    def run(self) -> int:
        """Work until told to stop; the exit status."""
        signals.setup_logging.connect(_leave_logging, weak=False)
        signals.worker_shutting_down.connect(self.begin_stop, weak=False)
        if self.runner is not None:
            set_runner(self.runner)
        else:
            signals.worker_process_init.connect(self.begin_child, weak=False)
        watchdog = ConsumerWatchdog(self.ctx, self.kinds, self.liveness, self.without_broker)
        self.celery = app.Worker(
            hostname=f"triage-{os.getpid()}@{socket.gethostname()}",
            pool_cls="prefork" if self.runner is None else "threads",
            concurrency=self.concurrency,
            queues=[queue_name(self.settings, kind) for kind in self.kinds],
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        if self.is_child:
            self.begin_as_child()
        watchdog.start(self.celery, self.stopping)
        log.info("worker started", concurrency=self.concurrency, kinds=[*map(str, self.kinds)])
        self.celery.start()
        self.without_broker.release()
        if self.runner is not None:
            self.runner.release_all()
        self.liveness.end()
        self.readers.close()
        self.ctx.close()
        log.info("worker ended")
        return int(self.celery.exitcode or 0)

    def begin_child(self, **_: object) -> None:
        """A new process of the pool: it lets go on SIGTERM, and when the master is gone."""
        shut_down_on(signal.SIGTERM)
        end_with_parent(signal.SIGTERM, self.master)

    def begin_as_child(self) -> None:
        """There may be no scheduler beside, and the end of the pipe has to be heard."""
        measured = replace(self.ctx, wakeups=DedupWakeups(self.ctx.wakeups, self.settings))
        for name, work in (
            ("scheduler", lambda: sweep_until(measured, self.stopping, beat=notify_supervisor)),
            ("parent", self.listen),
        ):
            threading.Thread(target=work, name=name, daemon=True).start()

    def listen(self) -> None:
        """The end of the pipe is the end of the parent; what it writes says nothing here."""
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    def begin_stop(self, **_: object) -> None:
        """Celery waits for what is being done, without end; this is the end."""
        self.stopping.set()
        if self.runner is not None:
            self.runner.stopping.set()
        orphan = self.is_child and os.getppid() != self.parent
        grace_s = _ORPHAN_GRACE_S if orphan else _GRACE_S
        for after_s, action in ((grace_s, self.stop_now), (grace_s + _LAST_WORD_S, _give_up)):
            timer = threading.Timer(after_s, action)
            timer.daemon = True
            timer.start()

    def stop_now(self) -> None:
        """Time is up: what is held goes back."""
        self.without_broker.release()
        if self.runner is not None:
            self.runner.release_all()
            self.liveness.end()
            os._exit(0)
        for process in self.celery.pool._pool._pool:
            os.kill(process.pid, signal.SIGTERM)


def _give_up() -> None:
    os._exit(1)


def _leave_logging(**_: object) -> None:
    """Celery sets up no logs of its own when somebody listens to this signal."""


def main(arguments: list[str]) -> int:
    """Run with options; the settings come from the environment."""
    parser = argparse.ArgumentParser(prog="triage worker")
    parser.add_argument("--concurrency", type=int, default=0)
    parser.add_argument("--pool", choices=["prefork", "threads"], default="prefork")
    parser.add_argument("--child", action="store_true")
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
