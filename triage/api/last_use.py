"""When tokens were last used: noted by requests, written beside them.

Of one token a row is written at most once a minute, and no request waits for it. What a process
that dies had not written is lost.
"""

import asyncio
import time
from typing import Final

import structlog
from anyio import to_thread

from triage.clock import read_utc_now
from triage.errors import TriageError
from triage.services.context import Context
from triage.services.tokens import note_used_tokens

log = structlog.get_logger(__name__)
_EVERY_S: Final = 60.0
# Those of a burst are written together.
_GATHER_S: Final = 1.0
_MOST_REMEMBERED: Final = 10_000


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
        if len(self.written) >= _MOST_REMEMBERED:
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
