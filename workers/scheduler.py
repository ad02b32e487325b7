"""``triage scheduler``: wakes workers again for rows that nobody holds, and keeps house once a day.

Two of them do no harm: what is due stands in the database, and a row is claimed by one.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Final

import structlog

from triage.errors import Refusal, TriageError, UsageError
from triage.logging import configure_logging
from triage.queue.wakeups import CeleryWakeups, DedupWakeups
from triage.server.context import open_context
from triage.server.work import make_sweeper
from triage.services.context import Context
from triage.services.schema import check_schema
from triage.settings import load_settings
from workers.liveness import beat

log = structlog.get_logger(__name__)

_EVERY_S: Final = 1.0
# After SIGTERM, whatever it waits for.
_LAST_S: Final = 25.0


def run(
    ctx: Context,
    stopping: threading.Event,
    every_s: float = _EVERY_S,
    beat: Callable[[], None] = lambda: None,
) -> None:
    """Sweep until told to stop; a database that is away is tried again."""
    sweeper = make_sweeper(ctx)
    while not stopping.is_set():
        beat()
        try:
            num_due = sweeper.sweep()
        except Refusal as error:
            log.warning("not swept", why=error.detail)
        else:
            if num_due:
                log.debug("work is due", rows=num_due)
        stopping.wait(every_s)


def main() -> int:
    """Run with the settings of the environment."""
    stopping = threading.Event()

    def stop(*_: object) -> None:
        stopping.set()
        last = threading.Timer(_LAST_S, os._exit, args=[1])
        last.daemon = True
        last.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        settings = load_settings()
        configure_logging(settings)
        if settings.embedded_broker:
            raise UsageError(
                "TRIAGE_BROKER_URL is memory://, where `triage serve` sweeps by itself;"
                " set it to redis://... or amqp://..."
            )
        check_schema(settings)
        ctx = open_context(settings, DedupWakeups(CeleryWakeups(settings), settings))
    except TriageError as error:
        sys.stderr.write(f"triage: {error}\n")
        return 2
    log.info("scheduler started")
    run(ctx, stopping, beat=beat)
    ctx.close()
    log.info("scheduler ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
