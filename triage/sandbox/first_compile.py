"""Compiling once: of the processes that start together after an installation, one compiles.

The others wait for it and load what it wrote, so that the first start takes one compilation's
time on any number of cores. Where a lock cannot be had, each compiles by itself.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from triage.parsers.flight_recorder import jit

__all__ = ["one_at_a_time"]


@contextmanager
def one_at_a_time(path: Path = Path(jit.__file__)) -> Iterator[None]:
    """Hold the lock on ``path``, which is not written to: the source of how things are compiled.

    A process that dies lets go of it.
    """
    try:
        source = path.open("rb")
    except OSError:
        yield
        return
    with source:
        with suppress(OSError):  # some network file systems lock only what may be written
            fcntl.flock(source, fcntl.LOCK_EX)
        yield
