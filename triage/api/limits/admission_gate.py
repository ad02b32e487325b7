"""How many uploads are taken in at once, and how many wait for their turn.

What comes beyond is told to come again, before a byte of its body is read: memory stays
bounded, and a client that waits at home costs nothing. A place is for who has something to
give: senders that have hardly begun hold none, however many they are.

Where readers and uploads share few processors, a file that is acknowledged and not read helps
nobody: while many wait to be read one place serves all, and the rest open again when the line
is short.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from triage.errors import Unavailable

__all__ = ["AdmissionGate"]

# Sending a body a second time costs both sides more than waiting does.
MAX_WAIT_S: Final = 120.0
# What a body begins with is held in memory until there is a place, up to half a megabyte.
MAX_BEGINNING: Final = 64
# Clients that were sent away together do not come back together, and not so soon that
# refusing them costs more than taking in what waits: 62,000 refusals once took three minutes.
RETRY_AFTER_S: Final = (10, 20)
# How often places that were closed are looked at when no upload ends.
LOOK_EVERY_S: Final = 0.25
# Whoever has waited so long is let in whatever there is to read: it would soon be refused.
LONG_WAIT_S: Final = 90.0


def never() -> bool:
    """Nobody reads here."""
    return False


class AdmissionGate:
    """``max_active`` inside, ``max_waiting`` before it; first come, first served.

    While ``line_is_long`` says so there is one place instead of ``max_active``, unless those
    who come in have waited for long.
    """

    def __init__(
        self, max_active: int, max_waiting: int, line_is_long: Callable[[], bool] = never
    ) -> None:
        self.max_active = max_active
        self.max_waiting = max_waiting
        self.waiting = 0
        self.active = 0
        self.closed = 0
        self.waited_s = 0.0
        self.line_is_long = line_is_long
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
        came_at = anyio.current_time()
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
        self.waited_s = anyio.current_time() - came_at
        try:
            yield
        finally:
            self.active -= 1
            self.leave()

    def leave(self) -> None:
        """Give the place to the next, or close it for a while."""
        if self.closed + 1 < self.max_active and self.stands_back():
            self.closed += 1
            if self.closed == 1:
                self.look_soon()
            return
        self.places.release()
        self.reopen()

    def reopen(self) -> None:
        """Open what was closed, unless the line is still long."""
        while self.closed and not self.stands_back():
            self.closed -= 1
            self.places.release()

    def stands_back(self) -> bool:
        """Whether readers come before uploads now."""
        return self.waited_s < LONG_WAIT_S and self.line_is_long()

    def look_soon(self) -> None:
        """See that closed places open also when those inside take long."""

        def look() -> None:
            self.reopen()
            if self.closed:
                self.look_soon()

        asyncio.get_running_loop().call_later(LOOK_EVERY_S, look)

    def busy(self) -> Unavailable:
        """The refusal of one upload too many."""
        return Unavailable(
            f"{self.active} uploads are being taken in and {self.waiting} wait",
            hint="nothing was read; send it again after Retry-After seconds",
            retry_after_s=random.randint(*RETRY_AFTER_S),
        )
