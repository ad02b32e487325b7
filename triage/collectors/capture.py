"""Capture: the output of a command in a file, bounded in time and in bytes.

The command runs in a process group of its own, and the group is killed at the end: a
pager or a helper that it started does not outlive it.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triage.collectors.artifact import Deadline

_CHUNK = 1 << 18
# After the deadline: time to close files and to say what was left.
_GRACE_S = 1.0
# An epilogue has no search path.
FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin")

running: set[int] = set()
"""The process groups that :func:`end_all` ends, by their ids."""


class Captured(NamedTuple):
    """``size_bytes`` were kept of what was printed; ``why`` says what is wrong, or is empty."""

    size_bytes: int
    why: str


def end_all() -> None:
    """Kill the groups of all commands that still run."""
    for pid in list(running):
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


def program(name: str, search: str) -> str | None:
    """The path of ``name`` in the folders of ``search`` (as in ``PATH``) or the usual ones."""
    for folder in (*search.split(os.pathsep), *FOLDERS):
        path = os.path.join(folder, name)
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def capture(
    argv: Sequence[str], scratch: IO[bytes], max_bytes: int, deadline: Deadline
) -> Captured:
    """Write to ``scratch`` the end of what ``argv`` prints: at most ``2 * max_bytes``.

    ``argv[0]`` is an absolute path. A command that has not ended at ``deadline`` is
    killed, and what it printed is kept. Never raises for a command that fails.
    """
    zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
    nothing, in_time = subprocess.DEVNULL, True
    try:
        with run_command(argv, zone, stdin=nothing, stderr=nothing) as process:
            for part in iterate_output(process, deadline):
                scratch.write(part)
                if scratch.tell() >= 2 * max_bytes:
                    _keep_end(scratch, max_bytes)
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(1.0, deadline.left_s()))
    except TimeoutError:
        in_time = False
    except CannotRun as error:
        return Captured(0, str(error))
    size = scratch.seek(0, os.SEEK_END)
    if not in_time:
        return Captured(size, "did not end in time; what it had printed is kept")
    status = process.returncode
    # Killed by us after its last byte, or ended by itself: both are good.
    return Captured(size, "" if status in {0, -signal.SIGKILL} else f"ended with status {status}")


class CannotRun(Exception):
    """A command cannot be started; the message is a clause."""


@contextmanager
def run_command(
    argv: Sequence[str],
    environment: Mapping[str, str],
    stdin: int | IO[bytes],
    stderr: int | IO[bytes],
) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process group of its own, which is killed at the end.

    Raises :class:`CannotRun`.
    """
    variables = {"PATH": os.pathsep.join(FOLDERS), "LC_ALL": "C", **environment}
    try:
        process = subprocess.Popen(
            list(argv), stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=variables,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise CannotRun(f"cannot be run: {error.strerror}") from error
    running.add(process.pid)
    try:
        yield process
    finally:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        running.discard(process.pid)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def iterate_output(process: subprocess.Popen[bytes], deadline: Deadline) -> Iterator[bytes]:
    """What a command prints until it closes its output. Raises TimeoutError at the deadline."""
    if process.stdout is None:
        return
    pipe = process.stdout.fileno()
    while not deadline.passed():
        ready, _, _ = select.select([pipe], [], [], min(1.0, deadline.left_s()))
        if not ready:
            continue
        part = os.read(pipe, _CHUNK)
        if not part:
            return
        yield part
    raise TimeoutError


def _keep_end(scratch: IO[bytes], size: int) -> None:
    """Move the last ``size`` bytes to the front; they do not overlap with where they go."""
    end = scratch.tell()
    start, at = end - size, 0
    while start < end:
        scratch.seek(start)
        part = scratch.read(min(_CHUNK, end - start))
        scratch.seek(at)
        scratch.write(part)
        start, at = start + len(part), at + len(part)
    scratch.truncate()


def end_process_at(deadline: Deadline, status: int) -> threading.Timer:
    """End this process with ``status`` shortly after ``deadline``, whatever hangs.

    A name server or a network file system may hold a call for minutes, and no time limit
    of ours reaches it. Bundles are in the spool by then, or never will be. Cancel the timer
    that comes back when the work is done.
    """

    def end() -> None:
        end_all()
        sys.stderr.write("triage collect: the deadline has passed and a call still hangs; ended\n")
        sys.stderr.flush()
        os._exit(status)

    timer = threading.Timer(deadline.left_s() + _GRACE_S, end)
    timer.daemon = True
    timer.start()
    return timer
