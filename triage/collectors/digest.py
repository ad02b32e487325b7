"""Digests in place of dumps: made on the node by a child that may be killed.

The child is the whole package with its compiled loops, and confines itself before it reads. Where
a node has only this folder, or the child dies, is late or says no, the dump is sent as it is.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from triage.collectors.capture import running

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triage.collectors.artifact import Deadline

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAKER = "triage.sandbox.node_digests"
_CHUNK = 1 << 16
# A first line of an answer: how many bytes follow, or why none do.
_LONGEST_LINE = 512
# No digest is larger.
_MAX_BYTES = 1 << 20
_ENDED = "what makes them ended; it needs the whole package, with numba"
# What the child is told of its surroundings: where things are, and no secret.
_PASSED_ON = frozenset(
    ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "XDG_CACHE_HOME")
)
_PASSED_ON_PREFIXES = ("PYTHON", "NUMBA_", "LC_")
# Threads of libraries, of which it makes no use, would take memory that it does not have.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Digested(NamedTuple):
    """The digest of a dump; ``why`` says what a person is to know of it.

    Where ``data`` is empty the dump is to be sent, and ``why`` is the reason.
    """

    data: bytes
    why: str


class _Broken(Exception):
    """The child does not answer as it should; the message says how."""


class Digester:
    """One child for all dumps of a run, started with the first of them."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._why = ""
        self._not_confined = ""
        self._left = b""

    def __enter__(self) -> Digester:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def digest(self, copy: IO[bytes], name: str, deadline: Deadline) -> Digested:
        """The digest of the dump in ``copy``, whose file is called ``name``. Never raises for a
        child that fails: it is not asked again, and all further dumps are sent.
        """
        if self._why:
            return Digested(b"", self._why)
        try:
            return self._asked(copy, name, deadline)
        except (_Broken, OSError) as error:
            self._end()
            self._why = f"no digests on this node, dumps are sent whole: {error}"
            return Digested(b"", self._why)

    def _asked(self, copy: IO[bytes], name: str, deadline: Deadline) -> Digested:
        child = self._child or self._started()
        size = copy.seek(0, os.SEEK_END)
        copy.seek(0)
        line = f"{size} {name}\n".encode("utf-8", "surrogateescape")
        _give(child, line, deadline)
        while part := copy.read(_CHUNK):
            _give(child, part, deadline)
        size_text, _, why = self._line(child, deadline).partition(b" ")
        if not size_text.isdigit() or int(size_text) > _MAX_BYTES:
            raise _Broken("what makes them answered something else")
        said = why.decode("utf-8", "replace")
        if not int(size_text):
            return Digested(b"", f"sent whole, not as a digest: {said}")
        warning = ""
        if said and said != self._not_confined:  # the same for all dumps: told with the first
            self._not_confined = said
            warning = f"this node does not confine what makes digests: {said}"
        return Digested(self._bytes(child, int(size_text), deadline), warning)

    def _started(self) -> subprocess.Popen[bytes]:
        self._child = child = subprocess.Popen(
            [sys.executable, "-m", MAKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The folder of the package: modules are looked for where the child starts.
            cwd=ROOT,
            env=_environment(os.environ),
            start_new_session=True,
        )
        running.add(child.pid)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        return child

    def _line(self, child: subprocess.Popen[bytes], deadline: Deadline) -> bytes:
        while b"\n" not in self._left:
            if len(self._left) > _LONGEST_LINE:
                raise _Broken("what makes them answered something else")
            self._left += _more(child, deadline)
        line, _, self._left = self._left.partition(b"\n")
        return line

    def _bytes(self, child: subprocess.Popen[bytes], size: int, deadline: Deadline) -> bytes:
        while len(self._left) < size:
            self._left += _more(child, deadline)
        data, self._left = self._left[:size], self._left[size:]
        return data

    def _end(self) -> None:
        child, self._child, self._left = self._child, None, b""
        if child is None:
            return
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        running.discard(child.pid)
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in given.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }
    return {**kept, **_ONE_THREAD}


def _give(child: subprocess.Popen[bytes], data: bytes, deadline: Deadline) -> None:
    """Write all of ``data`` to the child."""
    if child.stdin is None:
        raise _Broken("it has no input")
    at = 0
    while at < len(data):
        if deadline.passed():
            raise _Broken("no time was left to make them")
        select.select([], [child.stdin], [], min(1.0, deadline.left_s()))
        try:
            at += os.write(child.stdin.fileno(), data[at:])
        except BlockingIOError:
            continue
        except BrokenPipeError:
            raise _Broken(_ENDED) from None


def _more(child: subprocess.Popen[bytes], deadline: Deadline) -> bytes:
    """The next bytes of the child's answer."""
    if child.stdout is None:
        raise _Broken("it has no output")
    while not deadline.passed():
        ready, _, _ = select.select([child.stdout], [], [], min(1.0, deadline.left_s()))
        if ready:
            part = os.read(child.stdout.fileno(), _CHUNK)
            if not part:
                raise _Broken(_ENDED)
            return part
    raise _Broken("no time was left to make them")
