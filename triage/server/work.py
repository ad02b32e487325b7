"""Which function does which kind of work, and what the clock asks for.

What does a kind of work is imported with its first row: a worker is ready in half the time.
"""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache, partial
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.actions.schedulers.interface import Scheduler, make_scheduler
from triage.actions.services.carry_out import Hands
from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Conflict
from triage.fleet.services.weekly import DIGEST, enqueue_digest, send_digest
from triage.notify.guard import Guard
from triage.queue.runner import Claim, GivenUp, Handler, Runner, Sweeper, make_owner_name
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.settings import Settings
from triage.store.work.table import (
    ERASE,
    PROBLEMS,
    PRUNE,
    enqueue_idle,
)

log = structlog.get_logger(__name__)
_DAY: Final = timedelta(days=1)
# Nothing is deleted so soon after a start: a person may have to see first what was started.
_FIRST_S: Final = 3600.0
STARTED: Final = time.monotonic()


def open_readers(settings: Settings, size: int) -> Readers:
    """So many child processes that read files; each is started when it is first needed."""
    from triage.sandbox.pool import SandboxPool

    return SandboxPool(size, settings.parse_memory_bytes, settings.reader_resident_bytes)


def make_runner(ctx: Context, readers: Readers, scheduler: Scheduler | None = None) -> Runner:
    """The runner of one worker process; ``scheduler`` stands in for that of the settings."""
    guard = Guard(ctx.settings.webhook_allow)
    hands = Hands(ctx, cache(lambda: scheduler or make_scheduler(ctx.settings)))
    handlers = {
        WorkKind.PARSE: Handler(partial(_parse, ctx, readers), together=True),
        WorkKind.ANALYSE: Handler(partial(_analyse, ctx, readers)),
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
            lambda session, now: enqueue_idle(session, PRUNE, now),
            lambda session, now: enqueue_idle(session, PROBLEMS, now),
            lambda session, now: enqueue_digest(session, ctx.settings, now),
        ),
    )


def _make_given_up(settings: Settings) -> GivenUp:
    """What follows from work that is quarantined; receivers and housekeeping never are."""
    return {
        WorkKind.PARSE: _give_up_parsing,
        WorkKind.ANALYSE: partial(_give_up_analysing, settings),
    }


def _parse(ctx: Context, readers: Readers, claim: Claim) -> None:
    from triage.services.incidents.parse import parse

    parse(ctx, readers, claim)


def _give_up_parsing(session: Session, upload_id: str, why: str) -> None:
    from triage.services.incidents.parse import parse_given_up

    parse_given_up(session, upload_id, why)


def _analyse(ctx: Context, readers: Readers, claim: Claim) -> None:
    from triage.services.incidents.analyse import analyse

    analyse(ctx, readers, claim)


def _give_up_analysing(settings: Settings, session: Session, incident_id: str, why: str) -> None:
    from triage.services.incidents.analyse import analyse_given_up

    analyse_given_up(settings, session, incident_id, why)


def _deliver(ctx: Context, guard: Guard, claim: Claim) -> None:
    from triage.services.notifications.deliver import deliver

    deliver(ctx, guard, claim)


def _run_daily_round(ctx: Context, claim: Claim) -> None:
    left_s = STARTED + _FIRST_S - time.monotonic()
    if left_s > 0:
        claim.finish(again_at=read_utc_now() + timedelta(seconds=left_s))
        return
    from triage.fleet.services.telemetry.ingest import prune_telemetry
    from triage.services.retention.prune import believe_clock, prune

    try:
        believe_clock(ctx)
        prune(ctx, ctx.settings.keep_days, ctx.settings.keep_blobs_days)
        prune_telemetry(ctx, ctx.settings.keep_telemetry_days)
    except Conflict as error:
        log.error("nothing is removed", why=error.detail, step=error.hint)
    claim.finish(again_at=read_utc_now() + _DAY)


def _finish_erasures(ctx: Context, claim: Claim) -> None:
    """For a process that died between the rows and the bytes."""
    from triage.services.retention.prune import finish_erasures

    finish_erasures(ctx)
    claim.finish()


def _keep_problems(ctx: Context, claim: Claim) -> None:
    from triage.services.incidents.problems import keep_problems

    keep_problems(ctx, claim)


_HOUSEKEEPING: Final[Mapping[str, Callable[[Context, Claim], None]]] = {
    PRUNE: _run_daily_round,
    ERASE: _finish_erasures,
    PROBLEMS: _keep_problems,
    DIGEST: send_digest,
}
