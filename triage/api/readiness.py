"""Whether this process can do its work: each part asked, with what to do when it fails.

Database and blob store decide. Broker and worker are named and never fatal: without them
uploads are taken in, and what is owed is done when they are back.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from anyio import CapacityLimiter, move_on_after, to_thread

from triage.clock import read_utc_now
from triage.domain.wire import UNSENT, SentAs, WireForm
from triage.errors import TriageError
from triage.queue.wakeups import CeleryWakeups, PipeWakeups
from triage.services.context import Context
from triage.services.tokens import list_ending_tokens
from triage.store.database.migrate import head_revision, read_current_revision
from triage.store.work.backlog import read_activity, summarize_work
from triage.store.work.table import count_waiting

# The route is open to everybody; the parts are asked at most this often.
_KEEP_S: Final = 2.0
PATIENCE_S: Final = 5.0
# Work that waits longer has nobody who does it.
_NOBODY_WORKS_S: Final = 60.0
# An embedded worker is this service's own: silent for so long, it is the service that fails.
_SILENT_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Part(WireForm):
    """One part that the service rests on; only a fatal one says no."""

    name: str
    state: Annotated[str, SentAs(Literal["ok", "warn", "fail"])]
    detail: str = ""
    fatal: Annotated[bool, UNSENT] = False


class Readiness:
    """Asks the parts, each in a thread and with a limit; the answer is kept for a moment."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.lock = asyncio.Lock()
        # A part that hangs keeps its thread; it must not keep those of the routes.
        self.limiter = CapacityLimiter(8)
        self.embedded = isinstance(ctx.wakeups, PipeWakeups)
        self.kept: tuple[Part, ...] = ()
        self.until = 0.0

    async def parts(self) -> tuple[Part, ...]:
        """All parts, in a fixed order."""
        async with self.lock:
            if time.monotonic() >= self.until:
                checks = (
                    ("database", self.database, True),
                    ("blobs", self.blobs, True),
                    ("broker", self.broker, False),
                    ("worker", self.worker, self.embedded),
                    ("tokens", self.tokens, False),
                    ("surroundings", self.surroundings, False),
                )
                self.kept = tuple(
                    await asyncio.gather(
                        *(self.ask(name, ask, fatal) for name, ask, fatal in checks)
                    )
                )
                self.until = time.monotonic() + _KEEP_S
            return self.kept

    async def ask(self, name: str, ask: Callable[[], tuple[str, str]], fatal: bool) -> Part:
        """One part, whatever it does: raises, hangs or answers."""
        state, detail = "fail", f"no answer in {PATIENCE_S:.0f} s"
        with move_on_after(PATIENCE_S):
            try:
                # The database by the threads of the routes: where they all hang, nothing answers.
                limiter = None if ask == self.database else self.limiter
                state, detail = await to_thread.run_sync(
                    ask, limiter=limiter, abandon_on_cancel=True
                )
            except TriageError as error:
                state, detail = "fail", str(error)
        if not fatal and state == "fail":
            state = "warn"
        return Part(name, state, detail, fatal)

    def database(self) -> tuple[str, str]:
        """Whether it answers, and is at the revision of this release."""
        self.ctx.database.check()
        present, newest = read_current_revision(self.ctx.database), head_revision()
        if present != newest:
            return "fail", f"at revision {present}, not {newest}: run `triage migrate`"
        return "ok", ""

    def blobs(self) -> tuple[str, str]:
        """Whether bytes can be written."""
        self.ctx.blobs.check()
        return "ok", ""

    def broker(self) -> tuple[str, str]:
        """Whether the last wake-up went through."""
        wakeups = self.ctx.wakeups
        if isinstance(wakeups, CeleryWakeups):
            if time.monotonic() < wakeups.rest_until:
                return "warn", "the broker did not answer; the sweeper wakes workers instead"
            return "ok", ""
        return "ok", "embedded"

    def surroundings(self) -> tuple[str, str]:
        """Whether work waits for something that we stand on."""
        with self.ctx.database.reading() as session:
            waits = count_waiting(session)
        if waits:
            return "warn", "; ".join(one.words("piece of work") for one in waits)
        return "ok", ""

    def worker(self) -> tuple[str, str]:
        """Whether anybody does what is due."""
        now = read_utc_now()
        try:
            with self.ctx.database.reading() as session:
                oldest_s = float(summarize_work(session, now)["oldest_due_s"])
                acts = read_activity(session, now)
        except TriageError as error:
            return "warn", str(error)
        silent_s = oldest_s if acts.last_at is None else (now - acts.last_at).total_seconds()
        if self.embedded and not acts.running and min(oldest_s, silent_s) > _SILENT_S:
            return "fail", f"the worker has done nothing for {silent_s:.0f} s: see its log"
        if oldest_s > _NOBODY_WORKS_S:
            return "warn", f"work has been waiting for {oldest_s:.0f} s: is a worker running?"
        return "ok", ""

    def tokens(self) -> tuple[str, str]:
        """Whether none ends soon; which ones it is, only their owner is told."""
        ending = len(list_ending_tokens(self.ctx))
        if ending:
            return (
                "warn",
                f"{ending:,} will have ended within 14 days: `triage token list` names them",
            )
        return "ok", ""
