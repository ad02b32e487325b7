"""Work while the broker is away: a message only wakes, and the table says what is due.

As the embedded worker does it always, so does any worker until its broker is back: an outage of
a broker, however long, leaves no files that nobody has read.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import structlog

from triage.domain.states import WorkKind
from triage.queue.runner import Runner
from triage.queue.wakeups import NoWakeups
from triage.sandbox.pool import Readers
from triage.server.work import make_runner, make_sweeper
from triage.services.context import Context
from workers.dispatcher import Dispatcher, allocate_slots

log = structlog.get_logger(__name__)

LOOK_EVERY_S: Final = 2.0
# Work in progress may go on so long when the broker is back, or when the worker is to stop.
_GRACE_S: Final = 15.0


class WithoutBroker:
    """Works from threads of the master process, on ``concurrency`` files at a time."""

    def __init__(
        self, ctx: Context, readers: Readers, kinds: Iterable[WorkKind], concurrency: int
    ) -> None:
        self.ctx = replace(ctx, wakeups=NoWakeups())
        self.readers = readers
        slots = allocate_slots(concurrency)
        self.slots = {kind: slots[kind] for kind in kinds}
        self.runner: Runner | None = None

    def work_until(self, broker_is_back: Callable[[], bool], stopping: threading.Event) -> None:
        """Do what is due until the broker is asked and answers, or the worker is to stop."""
        log.warning("the broker is away: working from the table until it is back")
        self.runner = runner = make_runner(self.ctx, self.readers)
        dispatcher = Dispatcher(runner, make_sweeper(self.ctx), self.slots, threading.Event())
        threading.Thread(target=dispatcher.run, name="without-broker", daemon=True).start()
        while not stopping.wait(LOOK_EVERY_S) and not broker_is_back():
            pass
        dispatcher.stop(_GRACE_S)
        log.info("no longer working from the table", given_back=self.release())

    def release(self) -> int:
        """Claim nothing more, and give back what is held; how many rows."""
        return 0 if self.runner is None else self.runner.release_all()
