"""Wrong tokens, by the address they come from: each costs a look into the database.

Only failures count, and an address that has made too many is refused those tokens alone that
were not good lately: nobody locks out whoever is behind the same proxy.

Requests that come together with one token, as those of all nodes of a job do, share a look. It
begins after they came, so that a token that was revoked before is not good for any of them.
"""

import asyncio
import hashlib
from collections import OrderedDict, defaultdict
from typing import Final

from anyio import to_thread
from starlette.requests import Request

from triage.services.context import Context
from triage.services.rate_limiter import RateLimiter
from triage.services.tokens import check_token
from triage.store.views import KeyView

_WRONG_PER_MINUTE: Final = 120
_MOST_REMEMBERED: Final = 10_000


class TokenLookup:
    """Looks tokens up. Used by the event loop alone."""

    def __init__(self, ctx: Context, wrong_per_minute: int = _WRONG_PER_MINUTE) -> None:
        self.ctx = ctx
        self.failures = RateLimiter(wrong_per_minute, "wrong tokens come too often from here")
        # By their hashes: a token is nowhere longer than its request.
        self.good: OrderedDict[bytes, None] = OrderedDict()
        self.looks: dict[bytes, asyncio.Task[KeyView | None]] = {}
        self.locks: defaultdict[bytes, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def key_of(self, request: Request, token: str) -> KeyView | None:
        """Whose token it is, None for a wrong one. Raises :class:`TooMany`."""
        name = hashlib.sha256(token.encode()).digest()
        address = request.client.host if request.client is not None else ""
        if name not in self.good:
            self.failures.check(address)
        key = await asyncio.shield(self.next_look(name, token))
        self.good.pop(name, None)
        if key is None:
            self.failures.spend(address)
            return None
        self.good[name] = None
        if len(self.good) > _MOST_REMEMBERED:
            self.good.popitem(last=False)
        return key

    def next_look(self, name: bytes, token: str) -> "asyncio.Task[KeyView | None]":
        """The next look at this token that has not begun."""
        if name not in self.looks:
            self.looks[name] = asyncio.create_task(self.look(name, token))
        return self.looks[name]

    async def look(self, name: bytes, token: str) -> KeyView | None:
        """Look, when the look before this one is over."""
        try:
            async with self.locks[name]:
                del self.looks[name]
                return await to_thread.run_sync(check_token, self.ctx, token)
        finally:
            if name not in self.looks:
                self.locks.pop(name, None)
