"""An event loop whose clock jumps to the next timer: minutes of waiting pass at once.

For what waits by timers of the loop alone, without threads and sockets.
"""

import asyncio
import selectors
from typing import Final

START_S: Final = 1000.0


class JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting, it lets the time pass."""

    now = START_S

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now."""
        self.now += timeout or 0.0
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """``time()`` is in seconds since some moment; it stands still while anything runs."""

    def __init__(self) -> None:
        self.jumping = JumpingSelector()
        super().__init__(self.jumping)

    def time(self) -> float:
        """The virtual clock."""
        return self.jumping.now
