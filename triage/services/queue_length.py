"""How long the line is in which uploads wait to be read, as the newest of them found it."""

import time
from typing import Final

__all__ = ["Line"]

# Some rounds of all readers of a small machine: they never run dry, and are soon through.
LONG: Final = 64
# What was seen so long ago may have changed since.
FRESH_S: Final = 1.0


class Line:
    """Told by whoever takes an upload in, asked by whoever lets the next one in."""

    def __init__(self) -> None:
        self.ahead = 0
        self.seen_at = 0.0

    def joined(self, ahead: int) -> None:
        """An upload stands in line now, behind ``ahead`` others of its job."""
        self.ahead = ahead
        self.seen_at = time.monotonic()

    def is_long(self) -> bool:
        """Whether readers have enough to do for a while."""
        return self.ahead >= LONG and time.monotonic() - self.seen_at < FRESH_S
