"""Wrong tokens, by the address they come from: each costs a look into the database.

Only failures count, and an address that has made too many is refused those tokens alone that
were not good lately: nobody locks out whoever is behind the same proxy.

Requests that come together with one token, as those of all nodes of a job do, share a look. It
begins after they came, so that a token that was revoked before is not good for any of them.

When tokens were last used: noted by requests, written beside them.

Of one token a row is written at most once a minute, and no request waits for it. What a process
that dies had not written is lost.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict, defaultdict
from typing import Final

import structlog
from anyio import to_thread
from starlette.requests import Request

from triage.clock import read_utc_now
from triage.errors import TriageError
from triage.services.context import Context
from triage.services.quotas import RateLimiter
from triage.services.tokens import check_token, note_used_tokens
from triage.store.views import KeyView

log = structlog.get_logger(__name__)
_EVERY_S: Final = 60.0
# Those of a burst are written together.
_GATHER_S: Final = 1.0
_MOST_NOTED: Final = 10_000


class LastUse:
    """Used by the event loop alone."""

    def __init__(
        self, ctx: Context, *, every_s: float = _EVERY_S, gather_s: float = _GATHER_S
    ) -> None:
        self.ctx = ctx
        self.every_s = every_s
        self.gather_s = gather_s
        self.written: dict[str, float] = {}
        self.waiting: set[str] = set()
        self.writing: asyncio.Task[None] | None = None

    def note(self, key_id: str) -> None:
        """A token was used now."""
        now = time.monotonic()
        if now - self.written.get(key_id, -self.every_s) < self.every_s:
            return
        if len(self.written) >= _MOST_NOTED:
            self.written.clear()
        self.written[key_id] = now
        self.waiting.add(key_id)
        if self.writing is None or self.writing.done():
            self.writing = asyncio.create_task(self.write())

    async def write(self) -> None:
        """Write all that were noted by then."""
        while self.waiting:
            await asyncio.sleep(self.gather_s)
            used, self.waiting = self.waiting, set()
            try:
                await to_thread.run_sync(note_used_tokens, self.ctx, used, read_utc_now())
            except TriageError as error:
                log.warning("last use of tokens not written", tokens=len(used), why=str(error))


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
