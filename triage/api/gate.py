"""How many uploads are taken in at once, and how many wait for their turn.

What comes beyond is told to come again, before a byte of its body is read: memory stays
bounded, and a client that waits at home costs nothing. A place is for who has something to
give: senders that have hardly begun hold none, however many they are.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from triage.errors import Unavailable

__all__ = ["Gate"]

# Sending a body a second time costs both sides more than waiting does.
MAX_WAIT_S: Final = 120.0
# What a body begins with is held in memory until there is a place, up to half a megabyte.
MAX_BEGINNING: Final = 64
# Clients that were sent away together do not come back together, and not so soon that
# refusing them costs more than taking in what waits: 62,000 refusals once took three minutes.
RETRY_AFTER_S: Final = (10, 20)


class Gate:
    """``max_active`` inside, ``max_waiting`` before it; first come, first served."""

    def __init__(self, max_active: int, max_waiting: int) -> None:
        self.max_active = max_active
        self.max_waiting = max_waiting
        self.waiting = 0
        self.active = 0
        self.beginning = anyio.Semaphore(MAX_BEGINNING)
        self.places = anyio.Semaphore(max_active)

    @asynccontextmanager
    async def turn(self, begun: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """A place inside, once ``begun`` has returned; what that raises is raised.

        Raises :class:`Unavailable` when too many wait, or for too long.
        """
        if self.active + self.waiting >= self.max_active + self.max_waiting:
            raise self.busy()
        self.waiting += 1
        try:
            with anyio.move_on_after(MAX_WAIT_S) as scope:
                async with self.beginning:
                    await begun()
                    await self.places.acquire()
        finally:
            self.waiting -= 1
        if scope.cancelled_caught:
            raise self.busy()
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1
            self.places.release()

    def busy(self) -> Unavailable:
        """The refusal of one upload too many."""
        return Unavailable(
            f"{self.active} uploads are being taken in and {self.waiting} wait",
            hint="nothing was read; send it again after Retry-After seconds",
            retry_after_s=random.randint(*RETRY_AFTER_S),
        )
