"""A body read in a process of its own: what crashes or swells over it takes nothing else along.

The child is bounded in memory and time. It gets the body whole on stdin and answers on stdout;
a refusal is one sentence on stderr, with exit status :data:`REFUSED`.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from triage.domain.body import Body
from triage.errors import Corrupt
from triage.sandbox.confinement.confine import REFUSED
from triage.sandbox.errors import TRIED_TOO_MUCH
from triage.sandbox.process import build_child_environment

_PIECE: Final = 1 << 20
_MAX_SAID: Final = 400


class Output:
    """What the child answers, as a body; at its end, what became of the child."""

    def __init__(self, child: "subprocess.Popen[bytes]", died: str) -> None:
        self.child = child
        self.died = died

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes. Raises :class:`Corrupt` where the child did not end well."""
        if self.child.stdout is None or self.child.stderr is None:
            return b""
        part = self.child.stdout.read(size)
        if part:
            return part
        said = self.child.stderr.read(_MAX_SAID).decode("utf-8", "replace")
        code = self.child.wait()
        if code == REFUSED:
            raise Corrupt(said)
        if code == -signal.SIGSYS:
            raise Corrupt(f"its reader {TRIED_TOO_MUCH}")
        if code:
            raise Corrupt(self.died)
        return b""


@contextmanager
def run_child(
    module: str, body: Body, *, arguments: Sequence[str], deadline_s: float, died: str
) -> Iterator[Output]:
    """``python -m module ARGUMENTS`` over the body; the child is gone afterwards.

    ``died`` is the sentence for a child that ends before its time.
    """
    child = subprocess.Popen(
        # What it says on stderr goes to the client.
        [sys.executable, "-P", "-W", "ignore", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=build_child_environment(os.environ),
        start_new_session=True,
    )
    clock = threading.Timer(deadline_s, child.kill)
    clock.daemon = True
    clock.start()
    try:
        _hand_over(body, child)
        yield Output(child, died)
    finally:
        clock.cancel()
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _hand_over(body: Body, child: "subprocess.Popen[bytes]") -> None:
    """All of the body; the child says nothing before it has it. One that died takes no more."""
    if child.stdin is None:
        return
    with suppress(BrokenPipeError):
        while part := body.read(_PIECE):
            child.stdin.write(part)
    with suppress(BrokenPipeError):
        child.stdin.close()
