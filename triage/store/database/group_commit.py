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
from triage.store.database.engine import Database, translated

__all__ = ["GroupCommit"]

MOST_TOGETHER: Final = 64
# PostgreSQL: serialization_failure, deadlock_detected.
DEADLOCKS: Final = ("40001", "40P01")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Write:
    """What one thread wants written."""

    do: Callable[[Session], Any]
    result: "Future[Any]"


class GroupCommit:
    """One thread that writes for all others of a process."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def __call__(self, do: Callable[[Session], T]) -> T:
        """What ``do`` returns, once it is committed; raises what it raises."""
        result: Future[T] = Future()
        self.start()
        self.waiting.put(Write(do, result))
        return result.result()

    def start(self) -> None:
        """See that the thread runs; after a fork it has to be started again."""
        with self.lock:
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
            while len(group) < MOST_TOGETHER:
                try:
                    more = self.waiting.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self.waiting.put(None)
                    break
                group.append(more)
            self.commit(group)

    def commit(self, group: list[Write]) -> None:
        """One transaction for all; what each returns or raises goes to its thread."""
        results: list[tuple[Write, Any]] = []
        try:
            with self.database.writing() as session:
                results = [(write, attempt(session, write)) for write in group]
        except Exception as error:  # noqa: BLE001 - goes to the thread that waits for it
            if len(group) > 1 and is_deadlock(error):
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
            if isinstance(found, Raised):
                write.result.set_exception(found.error)
            else:
                write.result.set_result(found)

    def close(self) -> None:
        """End the thread once what waits is written."""
        if self.thread is not None:
            self.waiting.put(None)
            self.thread.join()


@dataclass(frozen=True, slots=True)
class Raised:
    """What one write raised; the others of its group go on."""

    error: Exception


def attempt(session: Session, write: Write) -> Any:  # noqa: ANN401 - whatever the write returns
    try:
        with translated(), session.begin_nested():
            return write.do(session)
    except Exception as error:
        if isinstance(error, Unavailable | StorageFull):
            raise  # the transaction is gone, and with it the whole group
        return Raised(error)


def is_deadlock(error: BaseException) -> bool:
    """Whether the group and another process each held rows that the other one wanted.

    What a group holds depends on who happened to write together; alone, each holds its rows
    in the one order that all keep to.
    """
    cause = getattr(error.__cause__, "orig", None)
    return getattr(cause, "sqlstate", None) in DEADLOCKS
