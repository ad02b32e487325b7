"""What one application holds beside its routes.

Who waits for an incident to settle holds no thread, and the database is not asked for each of them:
all who wait for one share one question, and the questions grow rarer the longer nothing happens.
When too many wait, or the service is about to end, a waiter is answered with the present state,
which is what it would get when its time is up.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from triage.api.limits.admission_gate import AdmissionGate
from triage.api.limits.token_lookup import LastUse, TokenLookup
from triage.api.metrics import Metrics
from triage.api.readiness import Readiness
from triage.errors import TriageError
from triage.services.context import Context
from triage.services.quotas import RateLimiter

_FIRST_S: Final = 0.1
_LAST_S: Final = 1.0
_MAX_WAITERS: Final = 512
# Threads that the questions may take from everybody else.
_THREADS: Final = 2


@dataclass(slots=True)
class Watched:
    """One incident that somebody waits for."""

    settled: asyncio.Event = field(default_factory=asyncio.Event)
    waiters: int = 0
    task: "asyncio.Task[None] | None" = None


class Watch:
    """``settled`` asks the database, blocking; an incident that is gone counts as settled."""

    def __init__(
        self, is_settled: Callable[[str], bool], *, max_waiters: int = _MAX_WAITERS
    ) -> None:
        self.is_settled = is_settled
        self.max_waiters = max_waiters
        self.waiters = 0
        self.ended = False
        self.watched: dict[str, Watched] = {}
        self.limiter = CapacityLimiter(_THREADS)

    async def settled(self, incident_id: str, wait_s: float) -> None:
        """Return when the incident has settled, when time is up, or when there is no waiting."""
        if wait_s <= 0 or self.ended or self.waiters >= self.max_waiters:
            return
        one = self.watched.setdefault(incident_id, Watched())
        if one.task is None:
            one.task = asyncio.create_task(self.ask(incident_id, one))
        self.waiters += 1
        one.waiters += 1
        try:
            async with asyncio.timeout(wait_s):
                await one.settled.wait()
        except TimeoutError:
            return
        finally:
            self.waiters -= 1
            one.waiters -= 1
            if one.waiters == 0:
                self.forget(incident_id, one)

    def end(self) -> None:
        """Let everybody go: the service is about to end. Called in the event loop's thread."""
        self.ended = True
        for one in self.watched.values():
            one.settled.set()

    def forget(self, incident_id: str, one: Watched) -> None:
        """Nobody waits for it any more."""
        if one.task is not None:
            one.task.cancel()
        if self.watched.get(incident_id) is one:
            del self.watched[incident_id]

    async def ask(self, incident_id: str, one: Watched) -> None:
        """Ask until it has settled."""
        pause_s = _FIRST_S
        while True:
            try:
                settled = await to_thread.run_sync(
                    self.is_settled, incident_id, limiter=self.limiter
                )
            except TriageError:
                # The database is away; the waiters are told so when they read the incident.
                settled = True
            if settled:
                one.settled.set()
                return
            await asyncio.sleep(pause_s)
            pause_s = min(_LAST_S, pause_s * 1.5)


@dataclass(frozen=True, slots=True)
class ApiState:
    """Made once by ``create_app``; ``open_access`` gives everybody everything."""

    context: Context
    open_access: bool
    metrics: Metrics
    pace: RateLimiter
    token_lookup: TokenLookup
    last_use: LastUse
    gate: AdmissionGate
    watch: Watch
    readiness: Readiness


def get_state(request: Request) -> ApiState:
    """The state of the application that answers this request."""
    return cast("ApiState", request.app.state.triage)
