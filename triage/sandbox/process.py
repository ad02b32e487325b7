"""One reader process, as its parent sees it: from its start to its end."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from triage.sandbox.protocol import READY, SPENT, Channel, Closed

STOP_S: Final = 2.0
# Kernels count the peak of memory in KiB, but for one that counts in bytes.
_PEAK_UNIT: Final = 1 << 20 if sys.platform == "darwin" else 1 << 10
# It decodes foreign bytes: it is told where things are, and no secret.
_PASSED_ON: Final = frozenset(
    {
        "PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "XDG_CACHE_HOME",
        "TRIAGE_READER",
    }
)  # fmt: skip
_PASSED_ON_PREFIXES: Final = ("PYTHON", "NUMBA_", "LC_")
# Threads of libraries, of which it makes no use, would take address space.
_ONE_THREAD: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}


class ReaderProcess:
    """A started process; ``owner`` is the process that may speak to it.

    ``memory_bytes`` of address space are all it gets; with more than ``resident_bytes`` of
    memory behind an answer it ends. ``missing`` is what of its confinement cannot be had here,
    known when it is ready.
    """

    def __init__(self, memory_bytes: int, resident_bytes: int) -> None:
        self.owner = os.getpid()
        self.born = time.monotonic()
        self.is_ready = False
        self.has_answered = False
        self.ended: tuple[int, float] | None = None
        self.inputs = InputFolder()
        self.missing: tuple[str, ...] = ()
        command = [
            sys.executable,
            "-P",
            "-m",
            "triage.sandbox.child",
            str(memory_bytes),
            str(resident_bytes),
            str(self.owner),
            str(self.inputs.path),
        ]
        self.process = _STARTER.run(command, build_child_environment(os.environ))
        source, sink = self.process.stdout, self.process.stdin
        if source is None or sink is None:
            raise RuntimeError("a reader was started without pipes")
        self.channel = Channel(source.fileno(), sink.fileno())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def age_s(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.born

    def wait_ready(self, deadline: float) -> None:
        """Wait until it has loaded what it needs, or given back what the last request took.

        Raises :class:`Closed`, also when it has ended for its memory, or :class:`TooLate`.
        """
        if not self.is_ready:
            answer = self.channel.receive(deadline)
            if answer == SPENT:
                raise Closed("it holds too much memory")
            if not self.has_answered:
                self.missing = tuple(orjson.loads(answer.removeprefix(READY)))
            self.is_ready = True

    def ask(
        self, asked: bytes, frames: Iterable[bytes], deadline: float
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Send a request with the frames behind it; the answer's head and its parts.

        Raises :class:`Closed` or :class:`TooLate`, and what ``frames`` raises; then nothing more
        can be said to it. Else it is to be waited for before it is asked again.
        """
        self.is_ready = False
        self.channel.send(asked, deadline)
        for frame in frames:
            if frame:
                self.channel.send(frame, deadline)
        self.channel.send(b"", deadline)
        try:
            told = orjson.loads(self.channel.receive(deadline))
            parts = [self.channel.receive(deadline) for _ in range(told["parts"])]
        except (ValueError, KeyError, TypeError) as error:
            raise Closed("what it says cannot be understood") from error
        self.has_answered = True
        return told, parts

    def has_ended(self) -> bool:
        """Whether it is gone; it is then accounted for."""
        return self.reap(os.WNOHANG)

    def end(self) -> tuple[int, float]:
        """Kill it if it lives: exit code, negative for a signal, and peak memory in MiB."""
        if not self.reap(os.WNOHANG):
            os.kill(self.pid, signal.SIGKILL)
            self.reap(0)
        self.hang_up()
        return self.ended or (0, 0.0)

    def stop(self) -> None:
        """Let it end by itself for a moment, then kill it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        until = time.monotonic() + STOP_S
        while not self.reap(os.WNOHANG) and time.monotonic() < until:
            time.sleep(0.01)
        self.end()

    def reap(self, options: int) -> bool:
        """Account for it when it has ended; whether it has."""
        if self.ended is not None:
            return True
        try:
            pid, status, used = os.wait4(self.pid, options)
        except ChildProcessError:  # somebody waits for every child of this process
            self.ended = (0, 0.0)
            self.process.returncode = 0
            return True
        if pid == 0:
            return False
        code = os.waitstatus_to_exitcode(status)
        self.process.returncode = code
        self.ended = (code, used.ru_maxrss * _PEAK_UNIT / (1 << 20))
        return True

    def hang_up(self) -> None:
        """Close this process's ends of the pipes; it has ended, or is another process's."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if self.owner == os.getpid():
            self.inputs.remove()


def build_child_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What a reader is told of its surroundings."""
    kept = {
        name: value
        for name, value in given.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [given.get("PYTHONPATH")])]
    return {**kept, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)}


@dataclass(slots=True)
class _Starter:
    """Starts readers from a thread that lives as long as the process.

    The kernel ends a reader with the *thread* that started it, and calls come from threads
    that come and go.
    """

    lock: threading.Lock
    owner: int = -1
    threads: ThreadPoolExecutor | None = None

    def run(self, command: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """The started process, in a session of its own: signals of a terminal pass it by."""
        with self.lock:
            if self.threads is None or self.owner != os.getpid():  # threads do not survive a fork
                self.threads = ThreadPoolExecutor(1, thread_name_prefix="start-readers")
                self.owner = os.getpid()
            threads = self.threads
        return threads.submit(_start_child, command, env).result()


def _start_child(command: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env=env,
        start_new_session=True,
    )


_STARTER: Final = _Starter(threading.Lock())
os.register_at_fork(after_in_child=lambda: setattr(_STARTER, "lock", threading.Lock()))


_PREFIX: Final = "triage-reader-"


class InputFolder:
    """Made for one reader; others of the same machine cannot look into it.

    It lies where temporary files do (``TMPDIR``), as the files that are lent to it, so that
    lending costs a name and no bytes.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self.identity = _get_folder_identity(self.path)

    @contextmanager
    def lent(self, paths: Iterable[Path]) -> Iterator[list[str]]:
        """The paths under which the reader finds these files meanwhile.

        Raises :class:`OSError` where one is not there, and where the folder is not the one that the
        reader may look into, before or after: then what it says of a file is not to be believed.
        """
        inside = []
        self.check()
        try:
            for number, path in enumerate(paths):
                name = self.path / str(number)
                inside.append(str(name))
                _lend(path, name)
            yield inside
            self.check()
            for one in inside:
                os.lstat(one)
        finally:
            for one in inside:
                with suppress(OSError):
                    os.unlink(one)

    def check(self) -> None:
        """Raises :class:`OSError` where the folder is away, or another one lies in its place."""
        if _get_folder_identity(self.path) != self.identity:
            raise FileNotFoundError(errno.ENOENT, "the folder of a reader was replaced", self.path)

    def remove(self) -> None:
        """Its reader has ended."""
        shutil.rmtree(self.path, ignore_errors=True)


def _get_folder_identity(folder: Path) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _lend(path: Path, name: Path) -> None:
    try:
        os.link(path, name)
    except FileNotFoundError:
        raise
    except OSError:  # on another file system, or of another user
        shutil.copyfile(path, name)
