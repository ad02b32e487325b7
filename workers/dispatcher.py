"""The embedded worker's threads: as many for each kind of work as it may do at once.

One loop looks at the table and hands what is due to idle threads. It looks when it is woken, when
a thread becomes idle, and from time to time: often while there is work, seldom otherwise.

Work while the broker is away: a message only wakes, and the table says what is due.

As the embedded worker does it always, so does any worker until its broker is back: an outage of
a broker, however long, leaves no files that nobody has read.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Refusal
from triage.queue.runner import Runner
from triage.queue.sweeper import Sweeper
from triage.queue.wakeups import NoWakeups
from triage.sandbox.pool import Readers
from triage.server.work import make_runner, make_sweeper
from triage.services.context import Context
from triage.store.work.overdue import list_due

log = structlog.get_logger(__name__)

_BUSY_EVERY_S: Final = 0.05
_IDLE_EVERY_S: Final = 0.5
# This long after the last row it counts as idle.
_BUSY_FOR_S: Final = 2.0
_SWEEP_EVERY_S: Final = 1.0


def allocate_slots(num_parsers: int) -> dict[WorkKind, int]:
    """Threads by kind. Receivers keep one waiting, so notifying has more of them."""
    return {
        WorkKind.PARSE: num_parsers,
        WorkKind.ANALYSE: 1,
        WorkKind.NOTIFY: 4,
        WorkKind.ACT: 1,
        WorkKind.RETENTION: 1,
    }


class Dispatcher:
    """``run`` is for a thread of its own; ``wake`` has it look at once."""

    def __init__(
        self,
        runner: Runner,
        sweeper: Sweeper,
        slots: Mapping[WorkKind, int],
        wake: threading.Event,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self.beat = beat
        self.runner = runner
        self.sweeper = sweeper
        self.slots = slots
        self.wake = wake
        self.threads = ThreadPoolExecutor(sum(slots.values()), thread_name_prefix="work")
        self.taken: Counter[WorkKind] = Counter()
        self.changed = threading.Condition()
        self.busy_until = 0.0
        self.sweep_at = 0.0

    def run(self) -> None:
        """Dispatch until :meth:`stop`; a database that is away is tried again."""
        while not self.runner.stopping.is_set():
            self.beat()
            busy = time.monotonic() < self.busy_until
            if self.wake.wait(_BUSY_EVERY_S if busy else _IDLE_EVERY_S):
                self.wake.clear()
            try:
                self._look()
            except Refusal as error:
                log.warning("the table of work cannot be read", why=error.detail)
                self.runner.stopping.wait(1.0)

    def stop(self, timeout_s: float) -> bool:
        """Start nothing more, and wait for what is being done; whether it ended in time."""
        self.runner.stopping.set()
        self.wake.set()
        with self.changed:
            return self.changed.wait_for(lambda: not self.taken.total(), timeout_s)

    def _look(self) -> None:
        """Sweep when it is time, then hand out what is due."""
        if time.monotonic() >= self.sweep_at:
            self.sweep_at = time.monotonic() + _SWEEP_EVERY_S
            self.sweeper.sweep()
        with self.changed:
            free = {kind: most - self.taken[kind] for kind, most in self.slots.items()}
        free = {kind: number for kind, number in free.items() if number > 0}
        if not free:
            return
        with self.runner.database.reading() as session:
            # So many of a kind that stands first in line leave no row for another: all of it
            # is being done then, and the next look is at the others.
            kinds = list_due(session, read_utc_now(), list(free), sum(free.values()))
        if kinds:
            self.busy_until = time.monotonic() + _BUSY_FOR_S
        for kind, number in Counter(kinds).items():
            for _ in range(min(number, free[kind])):
                with self.changed:
                    self.taken[kind] += 1
                self.threads.submit(self._work_off, kind)

    def _work_off(self, kind: WorkKind) -> None:
        """Do rows of this kind until none is due; then the thread is idle again."""
        try:
            while self.runner.run_once(kind):
                pass
        except Refusal as error:
            log.warning("not done now", kind=str(kind), why=error.detail)
        except Exception:  # the edge: a fault of ours costs one row, and no thread
            log.exception("not done now", kind=str(kind))
        finally:
            with self.changed:
                self.taken[kind] -= 1
                self.changed.notify_all()
            self.wake.set()


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
