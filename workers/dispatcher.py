"""Work straight from the table: as many threads for each kind of work as it may do at once.

One loop looks at the table and hands what is due to idle threads. It looks when it is woken, when
a thread becomes idle, and from time to time: often while there is work, seldom otherwise.

The embedded worker always works so. A worker with a broker does while no message comes: a message
only wakes, so that an outage of a broker, however long, leaves no files that nobody has read.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Refusal
from triage.queue.runner import Runner, Sweeper
from triage.store.work.table import list_due

log = structlog.get_logger(__name__)

_BUSY_EVERY_S: Final = 0.05
_IDLE_EVERY_S: Final = 0.5
# This long after the last row it counts as idle.
_BUSY_FOR_S: Final = 2.0
_SWEEP_EVERY_S: Final = 1.0


class Dispatcher:
    """``wake`` has it look at once, and ``beat`` is called in each round.

    It does these kinds of work, ``num_parsers`` uploads at once, while it ``is_wanted``.
    """

    def __init__(
        self,
        runner: Runner,
        num_parsers: int,
        beat: Callable[[], None],
        *,
        kinds: Iterable[WorkKind] = WorkKind,
        sweeper: Sweeper | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.runner = runner
        # Receivers keep one waiting, so notifying has more threads.
        number = {WorkKind.PARSE: num_parsers, WorkKind.NOTIFY: 4}
        self.slots = {kind: number.get(kind, 1) for kind in kinds}
        self.beat = beat
        self.sweeper = sweeper
        self.is_wanted = is_wanted
        self.wake = threading.Event()
        self.threads = ThreadPoolExecutor(sum(self.slots.values()), thread_name_prefix="work")
        self.taken: Counter[WorkKind] = Counter()
        self.changed = threading.Condition()
        self.busy_until = 0.0
        self.sweep_at = 0.0

    def start(self) -> None:
        """Run in a thread of its own."""
        threading.Thread(target=self.run, name="dispatcher", daemon=True).start()

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
        if self.sweeper is not None and time.monotonic() >= self.sweep_at:
            self.sweep_at = time.monotonic() + _SWEEP_EVERY_S
            self.sweeper.sweep()
        with self.changed:
            free = {kind: most - self.taken[kind] for kind, most in self.slots.items()}
        free = {kind: number for kind, number in free.items() if number > 0}
        if not free or not self.is_wanted():
            return
        with self.runner.database.reading() as session:
            # So many of a kind that stands first in line leave no row for another: all of it
            # is being done then, and the next look is at the others.
            kinds = list_due(session, read_utc_now(), list(free), sum(free.values()))
        if kinds and self.sweeper is None and time.monotonic() >= self.busy_until:
            log.warning("no message told of work that is due: done from the table")
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
            while self.is_wanted() and self.runner.run_once(kind):
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
