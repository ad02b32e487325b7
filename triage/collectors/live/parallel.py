"""Calls side by side until a deadline: what has not come back by then is left behind.

The threads are daemons. A call that the kernel holds (a file of a process in an uninterruptible
wait, a name server) keeps neither the pull nor the end of this process.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triage.collectors.deadline import Deadline

Key = TypeVar("Key", bound=Hashable)
Task = tuple[Callable[..., Any], tuple[Any, ...]]


def run_all(tasks: Mapping[Key, Task], deadline: Deadline, width: int) -> dict[Key, Any]:
    """Results by key, of ``width`` calls at a time; those that are late are missing.

    A call that raises gives the exception as its result. After ``deadline`` none is begun.
    """
    waiting: queue.SimpleQueue[Key] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Key, Any]] = queue.SimpleQueue()
    for key in tasks:
        waiting.put(key)

    def work() -> None:
        with suppress(queue.Empty):
            while not deadline.passed():
                key = waiting.get_nowait()
                call, arguments = tasks[key]
                try:
                    result: Any = call(*arguments)
                except Exception as error:  # noqa: BLE001 - handed on; one call spoils no other
                    result = error
                done.put((key, result))

    for _ in range(min(width, len(tasks))):
        threading.Thread(target=work, daemon=True).start()
    results: dict[Key, Any] = {}
    with suppress(queue.Empty):
        while len(results) < len(tasks):
            # What lies there already is taken even when the time is up.
            key, result = done.get(timeout=max(0.001, deadline.left_s()))
            results[key] = result
    return results
