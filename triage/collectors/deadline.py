"""Deadline: the moment after which nothing new is begun.

It counts on the monotonic clock: a node whose wall clock jumps keeps its promise.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


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
