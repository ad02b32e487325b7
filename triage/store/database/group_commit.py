"""Small writes of many threads, committed together.

A commit that is on disk takes some milliseconds whatever it holds, so what waits while
one runs goes into the next. Each write stands or falls alone, by a savepoint; none is
answered before the commit that holds it.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sqlalchemy.orm import Session

from triage.errors import StorageFull, TriageError, Unavailable
from triage.store.database.engine import Database, translate_troubles

_MOST_TOGETHER: Final = 64
# Longer than a database that answers at all may take; beyond it the sender tries again.
_WAIT_S: Final = 60.0
_CLOSE_S: Final = 10.0
# PostgreSQL: serialization_failure, deadlock_detected.
_DEADLOCKS: Final = ("40001", "40P01")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Write:
    """What one thread wants written."""

    do: Callable[[Session], Any]
    result: "Future[Any]"


class GroupCommit:
    """One thread that writes for all others of a process."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.waiting: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.closed = False

    def __call__(self, do: Callable[[Session], T], wait_s: float = _WAIT_S) -> T:
        """What ``do`` returns, once it is committed; raises what it raises.

        Raises :class:`Unavailable` after :meth:`close`, and after ``wait_s``: then the write was
        not begun, or nobody can say whether it was kept.
        """
        result: Future[T] = Future()
        with self.lock:  # nothing is put behind the last word of `close`
            if self.closed:
                raise Unavailable("the service is stopping", hint="send it again")
            self.start()
            self.waiting.put(_Write(do, result))
        try:
            return result.result(wait_s)
        except TimeoutError as error:
            if result.done() and not result.cancelled():
                raise  # it is the write's own
            result.cancel()
            raise Unavailable(
                f"the database took longer than {wait_s:.0f} s", hint="send it again"
            ) from error

    def start(self) -> None:
        """See that the thread runs; after a fork it has to be started again. Under the lock."""
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=self.run, name="commit", daemon=True)
            self.thread.start()

    def run(self) -> None:
        """Write group by group until told to end."""
        while True:
            first = self.waiting.get()
            if first is None:
                return
            group = [first]
            while len(group) < _MOST_TOGETHER:
                try:
                    more = self.waiting.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self.waiting.put(None)
                    break
                group.append(more)
            self.commit([one for one in group if one.result.set_running_or_notify_cancel()])

    def commit(self, group: list[_Write]) -> None:
        """One transaction for all; what each returns or raises goes to its thread."""
        if not group:
            return
        results: list[tuple[_Write, Any]] = []
        try:
            with self.database.writing() as session:
                results = [(write, _try_write(session, write)) for write in group]
        except Exception as error:  # noqa: BLE001 - goes to the thread that waits for it
            if len(group) > 1 and _is_deadlock(error):
                for write in group:
                    self.commit([write])
                return
            for write in group:
                write.result.set_exception(
                    error
                    if isinstance(error, TriageError)
                    else Unavailable(f"the write failed: {type(error).__name__}")
                )
            return
        for write, found in results:
            if isinstance(found, _Raised):
                write.result.set_exception(found.error)
            else:
                write.result.set_result(found)

    def close(self, wait_s: float = _CLOSE_S) -> bool:
        """Take no more, and end the thread once what waits is written; whether that was in time."""
        with self.lock:
            if not self.closed:
                self.closed = True
                self.waiting.put(None)
        if self.thread is not None:
            self.thread.join(wait_s)
        return self.thread is None or not self.thread.is_alive()


@dataclass(frozen=True, slots=True)
class _Raised:
    """What one write raised; the others of its group go on."""

    error: Exception


def _try_write(session: Session, write: _Write) -> Any:  # noqa: ANN401 - whatever the write returns
    try:
        with translate_troubles(), session.begin_nested():
            return write.do(session)
    except Exception as error:
        if isinstance(error, Unavailable | StorageFull):
            raise  # the transaction is gone, and with it the whole group
        return _Raised(error)


def _is_deadlock(error: BaseException) -> bool:
    """Whether the group and another process each held rows that the other one wanted.

    What a group holds depends on who happened to write together; alone, each holds its rows
    in the one order that all keep to.
    """
    cause = getattr(error.__cause__, "orig", None)
    return getattr(cause, "sqlstate", None) in _DEADLOCKS
