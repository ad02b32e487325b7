"""Which function does which kind of work, and what the clock asks for."""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache, partial
from typing import Final

import structlog

from triage.actions.schedulers.interface import Scheduler, make_scheduler
from triage.actions.services.carry_out import Hands
from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Conflict
from triage.fleet.services.telemetry.ingest import prune_telemetry
from triage.fleet.services.weekly import DIGEST, enqueue_digest
from triage.notify.guard import Guard
from triage.queue.claim import Claim
from triage.queue.runner import GivenUp, Handler, Runner, make_owner_name
from triage.queue.sweeper import Sweeper
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.analyse import analyse, analyse_given_up
from triage.services.incidents.parse import parse, parse_given_up
from triage.services.incidents.problems import keep_problems
from triage.services.incidents.retention import believe_clock, prune
from triage.services.retention.erase import finish_erasures
from triage.services.retention.ownership import announce
from triage.settings import Settings
from triage.store.work.overdue import (
    ERASE,
    PROBLEMS,
    PRUNE,
    STORE,
    enqueue_daily_round,
    enqueue_idle,
)

log = structlog.get_logger(__name__)
_DAY: Final = timedelta(days=1)
# Nothing is deleted so soon after a start: a person may have to see first what was started.
_FIRST_S: Final = 3600.0
STARTED: Final = time.monotonic()
_LOOK_EVERY: Final = timedelta(minutes=20)


def open_readers(settings: Settings, size: int) -> Readers:
    """So many child processes that read files; each is started when it is first needed."""
    from triage.sandbox.pool import SandboxPool

    return SandboxPool(size, settings.parse_memory_bytes, settings.reader_resident_bytes)


def make_runner(ctx: Context, readers: Readers, scheduler: Scheduler | None = None) -> Runner:
    """The runner of one worker process; ``scheduler`` stands in for that of the settings."""
    guard = Guard(ctx.settings.webhook_allow)
    hands = Hands(ctx, cache(lambda: scheduler or make_scheduler(ctx.settings)))
    handlers = {
        WorkKind.PARSE: Handler(partial(parse, ctx, readers), together=True),
        WorkKind.ANALYSE: Handler(partial(analyse, ctx, readers)),
        WorkKind.NOTIFY: Handler(partial(_deliver, ctx, guard)),
        WorkKind.ACT: Handler(hands.carry_out),
        WorkKind.RETENTION: Handler(lambda claim: _HOUSEKEEPING[claim.rows[0].key](ctx, claim)),
    }
    return Runner(
        ctx.database, ctx.settings, handlers, _make_given_up(ctx.settings), make_owner_name()
    )


def make_sweeper(ctx: Context) -> Sweeper:
    """The sweeper of one process; it wakes workers as the context does."""
    return Sweeper(
        ctx.database,
        ctx.settings,
        _make_given_up(ctx.settings),
        ctx.wakeups,
        periodic=(
            enqueue_daily_round,
            lambda session, now: enqueue_idle(session, STORE, now),
            lambda session, now: enqueue_idle(session, PROBLEMS, now),
            lambda session, now: enqueue_digest(session, ctx.settings, now),
        ),
    )


def _make_given_up(settings: Settings) -> GivenUp:
    """What follows from work that is quarantined; receivers and housekeeping never are."""
    return {WorkKind.PARSE: parse_given_up, WorkKind.ANALYSE: partial(analyse_given_up, settings)}


def _deliver(ctx: Context, guard: Guard, claim: Claim) -> None:
    # The HTTP client takes a sixth of the time that a worker needs to start.
    from triage.services.notifications.deliver import deliver

    deliver(ctx, guard, claim)


def _run_daily_round(ctx: Context, claim: Claim) -> None:
    left_s = STARTED + _FIRST_S - time.monotonic()
    if left_s > 0:
        claim.finish(again_at=read_utc_now() + timedelta(seconds=left_s))
        return
    try:
        believe_clock(ctx)
        prune(ctx, ctx.settings.keep_days, ctx.settings.keep_blobs_days)
        prune_telemetry(ctx, ctx.settings.keep_telemetry_days)
    except Conflict as error:
        log.error("nothing is removed", why=error.detail, step=error.hint)
    claim.finish(again_at=read_utc_now() + _DAY)


def _look_at_store(ctx: Context, claim: Claim) -> None:
    """Whoever comes to this store later finds a mark of ours, and we find theirs."""
    announce(ctx, anew=False)
    claim.finish(again_at=read_utc_now() + _LOOK_EVERY)


def _send_weekly_digest(ctx: Context, claim: Claim) -> None:
    # What it is worked out with takes memory that few workers ever need.
    from triage.fleet.services.weekly import send_digest

    send_digest(ctx, claim)


def _finish_erasures(ctx: Context, claim: Claim) -> None:
    """For a process that died between the rows and the bytes."""
    again_at = None
    try:
        finish_erasures(ctx)
    except Conflict as error:
        log.error("bytes of what was erased are kept", why=error.detail, step=error.hint)
        again_at = read_utc_now() + _DAY
    claim.finish(again_at)


_HOUSEKEEPING: Final[Mapping[str, Callable[[Context, Claim], None]]] = {
    PRUNE: _run_daily_round,
    STORE: _look_at_store,
    ERASE: _finish_erasures,
    PROBLEMS: keep_problems,
    DIGEST: _send_weekly_digest,
}
