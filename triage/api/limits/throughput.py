"""How fast uploads go through while others wait, by the clock.

The time that each takes for itself does not tell: those that are received together share
processors and commits, and how many they are changes. So the times between their ends count.
"""

from collections import deque
from typing import Final

# So long, while others wait, tells how fast uploads go through. The fastest of the last such times
# counts: what was slow for a moment is none to send others away by, for nobody can call them back.
WINDOW_S: Final = 5.0
REMEMBERED: Final = 6


class Throughput:
    """Seconds from the end of one upload to the end of the next; ``first_s`` at first."""

    def __init__(self, first_s: float) -> None:
        self.means_s = deque([first_s] * REMEMBERED, maxlen=REMEMBERED)
        self.window_s = 0.0
        self.num_ended = 0
        self.since: float | None = None

    def ended(self, now: float, *, others_wait: bool) -> None:
        """An upload is through. The clock stops where nobody waits for its place."""
        if self.since is not None:
            self.window_s += now - self.since
            self.num_ended += 1
        if self.window_s >= WINDOW_S:
            self.means_s.append(self.window_s / self.num_ended)
            self.window_s, self.num_ended = 0.0, 0
        self.since = now if others_wait else None

    @property
    def each_s(self) -> float:
        """What one upload takes of the time of those who wait."""
        return min(self.means_s)
