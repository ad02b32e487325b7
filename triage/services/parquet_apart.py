"""A Parquet file as a table of text, read in a process of its own.

The child is bounded in memory and time; when it dies, the file is refused and nothing else is.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from triage.errors import Corrupt
from triage.services.parquet_child import REFUSED
from triage.services.reader_process import environment
from triage.services.receive_body import Body

__all__ = ["as_text"]

PIECE: Final = 1 << 20
MAX_SAID: Final = 400
DIED: Final = "a Parquet file whose reader ended before its time: give the table as CSV"


class Output:
    """The child's table, as a body; at its end, what became of the child."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self.child = child

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes. Raises :class:`Corrupt` where the child did not end well."""
        if self.child.stdout is None or self.child.stderr is None:
            return b""
        part = self.child.stdout.read(size)
        if part:
            return part
        said = self.child.stderr.read(MAX_SAID).decode("utf-8", "replace")
        code = self.child.wait()
        if code == REFUSED:
            raise Corrupt(said)
        if code:
            raise Corrupt(DIED)
        return b""


@contextmanager
def as_text(body: Body, memory_bytes: int, deadline_s: float) -> Iterator[Output]:
    """The file as CSV with the columns of a long table; the child is gone afterwards."""
    child = subprocess.Popen(
        # What it says on stderr goes to the client.
        [sys.executable, "-P", "-W", "ignore", "-m", "triage.services.parquet_child",
         str(memory_bytes)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(os.environ), start_new_session=True,
    )  # fmt: skip
    clock = threading.Timer(deadline_s, child.kill)
    clock.daemon = True
    clock.start()
    try:
        hand_over(body, child)
        yield Output(child)
    finally:
        clock.cancel()
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def hand_over(body: Body, child: "subprocess.Popen[bytes]") -> None:
    """All of the body; the child says nothing before it has it. One that died takes no more."""
    if child.stdin is None:
        return
    with suppress(BrokenPipeError):
        while part := body.read(PIECE):
            child.stdin.write(part)
    with suppress(BrokenPipeError):
        child.stdin.close()
