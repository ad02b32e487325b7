"""How fast uploads go through while others wait, by the clock.

The time that each takes for itself does not tell: those that are received together share
processors and commits, and how many they are changes. So the times between their ends count.
"""

from collections import deque
from typing import Final

__all__ = ["MEASURED", "REMEMBERED", "Throughput"]

# So many uploads tell how fast they go through. The fastest of the last such groups counts: what
# was slow for a moment is none to send others away by, for nobody can call them back.
MEASURED: Final = 64
REMEMBERED: Final = 4


class Throughput:
    """Seconds from the end of one upload to the end of the next, ``first_s`` until many ended."""

    def __init__(self, first_s: float) -> None:
        self.means_s = deque([first_s] * REMEMBERED, maxlen=REMEMBERED)
        self.gaps_s: list[float] = []
        self.since: float | None = None

    def ended(self, now: float, *, others_wait: bool) -> None:
        """An upload is through. The clock stops where nobody waits for its place."""
        if self.since is not None:
            self.gaps_s.append(now - self.since)
        if len(self.gaps_s) == MEASURED:
            self.means_s.append(sum(self.gaps_s) / MEASURED)
            self.gaps_s.clear()
        self.since = now if others_wait else None

    @property
    def each_s(self) -> float:
        """What one upload takes of the time of those who wait."""
        return min(self.means_s)
