"""Turns: how many questions of one caller are answered at a time."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from triage.agents.asking import ToolRefused

AT_ONCE: Final = 3
# Those of one answer of a model that asks about everything.
MOST: Final = 12


class Turns:
    """Up to ``at_once`` questions of a caller run, up to ``most`` are there; used by one loop."""

    def __init__(self, at_once: int = AT_ONCE, most: int = MOST) -> None:
        self.at_once = at_once
        self.most = most
        self.there: Counter[str] = Counter()
        self.places: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(at_once)
        )

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """A turn of this caller, once one is free. Raises :class:`ToolRefused`."""
        if self.there[caller] >= self.most:
            raise ToolRefused(
                f"{self.most} questions of this caller are waiting already: ask again when they"
                " are answered, and a few at a time."
            )
        self.there[caller] += 1
        try:
            async with self.places[caller]:
                yield
        finally:
            self.there[caller] -= 1
            if not self.there[caller]:
                del self.there[caller], self.places[caller]
