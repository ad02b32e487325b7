"""How long the line is in which uploads wait to be read, as the newest of them found it."""

import time
from typing import Final

# Some rounds of all readers of a small machine: they never run dry, and are soon through.
_LONG: Final = 64
# A number older than this may have changed since.
_FRESH_S: Final = 1.0


class QueueLength:
    """How many uploads of a job wait: noted when one came in, asked before the next is let in."""

    def __init__(self) -> None:
        self.ahead = 0
        self.seen_at = 0.0

    def note(self, ahead: int) -> None:
        """An upload waits now, behind ``ahead`` others of its job."""
        self.ahead = ahead
        self.seen_at = time.monotonic()

    def is_long(self) -> bool:
        """Whether readers have enough to do for a while."""
        return self.ahead >= _LONG and time.monotonic() - self.seen_at < _FRESH_S
