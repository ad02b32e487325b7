"""Programs, bounded in time and bytes and killed with their children at the end; and calls side by
side until a deadline.

What has not come back by then is left behind. The threads are daemons: a call that the kernel holds
(a file of a process in an uninterruptible wait, a name server) keeps neither the pull nor the end
of this process.
"""

from __future__ import annotations

import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from triage.collectors.capture import CannotRun, iterate_output, run_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triage.collectors.artifact import Deadline

_MAX_ERRORS = 1 << 14


class Printed(NamedTuple):
    """``data`` on stdout, ``errors`` the beginning of stderr, ``status`` None where it was killed.

    ``why`` says what is wrong, or is empty.
    """

    data: bytes
    errors: str
    status: int | None
    why: str


def run_program(
    argv: Sequence[str],
    deadline: Deadline,
    max_bytes: int,
    environment: Mapping[str, str] | None = None,
    sent: bytes = b"",
) -> Printed:
    """Run ``argv`` with ``sent`` on its stdin; never raises for a program that fails."""
    parts: list[bytes] = []
    why, status = "", None
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as begins:
        begins.write(sent)
        begins.seek(0)
        try:
            with run_command(argv, environment or {}, stdin=begins, stderr=errors) as process:
                for part in iterate_output(process, deadline):
                    if sum(map(len, parts)) + len(part) > max_bytes:
                        why = f"more than {max_bytes:,} bytes; the rest was not read"
                        break
                    parts.append(part)
                else:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(max(0.01, deadline.left_s()))
                status = process.returncode
        except TimeoutError:
            why = "did not end in time"
        except CannotRun as error:
            return Printed(b"", "", None, str(error))
        errors.seek(0)
        errors_text = errors.read(_MAX_ERRORS).decode("utf-8", "replace").strip()
    if status is None:
        return Printed(b"".join(parts), errors_text, None, why or "did not end in time")
    why = f"ended with status {status}" if status else ""
    return Printed(b"".join(parts), errors_text, status, why)


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
