"""How fast uploads go through while others wait, by the clock.

The time that each takes for itself does not tell: those that are received together share
processors and commits, and how many they are changes. So the times between their ends count.
"""

from collections import deque
from typing import Final

__all__ = ["Throughput"]

# Uploads whose ends tell how fast they go through.
MEASURED: Final = 64


class Throughput:
    """Seconds from the end of one upload to the end of the next, ``first_s`` until some ended."""

    def __init__(self, first_s: float) -> None:
        self.gaps_s = deque([first_s] * MEASURED, maxlen=MEASURED)
        self.since: float | None = None

    def ended(self, now: float, *, others_wait: bool) -> None:
        """An upload is through. The clock stops where nobody waits for its place."""
        if self.since is not None:
            self.gaps_s.append(now - self.since)
        self.since = now if others_wait else None

    @property
    def each_s(self) -> float:
        """What one upload takes of the time of those who wait."""
        return sum(self.gaps_s) / MEASURED
