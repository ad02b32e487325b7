"""Deadline: the moment after which nothing new is begun.

It counts on the monotonic clock: a node whose wall clock jumps keeps its promise.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from triage.collectors.capture import end_all

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Deadline", "end_process_at"]

# After the deadline: time to close files and to say what was left.
GRACE_S = 1.0


class Deadline:
    """So many seconds from now."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left_s(self) -> float:
        """Seconds left; 0.0 once it has passed."""
        return max(0.0, self._end - self._clock())

    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.left_s() <= 0.0

    def part(self, share: float) -> Deadline:
        """An earlier deadline: ``share`` (0 to 1) of what is left now."""
        return Deadline(self.left_s() * share, self._clock)


def end_process_at(deadline: Deadline, status: int) -> threading.Timer:
    """End this process with ``status`` shortly after ``deadline``, whatever hangs.

    A name server or a network file system may hold a call for minutes, and no time limit
    of ours reaches it. What was found is in the spool by then, or never will be. The
    timer that comes back is to be cancelled when the work is done.
    """

    def end() -> None:
        end_all()
        sys.stderr.write("triage collect: the deadline has passed and a call still hangs; ended\n")
        sys.stderr.flush()
        os._exit(status)

    timer = threading.Timer(deadline.left_s() + GRACE_S, end)
    timer.daemon = True
    timer.start()
    return timer
