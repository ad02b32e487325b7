"""One piece of work, from the claim to its end, whatever becomes of it.

The claim counts a try before anything is done, so that work which kills its worker is
known by it. While it is done a thread keeps the lease alive; a worker that is dead, or
whose machine is, keeps nothing alive.
"""

import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Final

import structlog
from sqlalchemy.orm import Session

from triage.domain.states import WorkKind
from triage.errors import TriageError
from triage.notify.guard import Guard
from triage.sandbox.readers import Readers
from triage.services.context import Context, utc_now
from triage.services.done import Done
from triage.services.incidents.analyse import analyse, analyse_given_up
from triage.services.incidents.parse import parse, parse_given_up
from triage.services.incidents.retention import prune_by_settings
from triage.services.notifications.deliver import deliver
from triage.services.notifications.outbox import wake_for
from triage.services.notifications.weekly_due import KEY as DIGEST
from triage.settings import Settings
from triage.store import work
from triage.store.ids import new_id
from triage.store.views import WorkView

__all__ = ["Tools", "give_up", "open_tools", "perform"]

log = structlog.get_logger(__name__)
RENEWALS: Final = 4
# Uploads that are read in one go: the rows they cost are written in one go as well.
TOGETHER: Final = 8
TOGETHER_BYTES: Final = 32 << 20


@dataclass(slots=True)
class Tools:
    """What a worker process holds. ``owner`` is the process's name on what it claims."""

    readers: Readers
    guard: Guard
    owner: str
    stopping: threading.Event = field(default_factory=threading.Event)

    def close(self) -> None:
        """End the readers; nothing is claimed any more."""
        self.stopping.set()
        self.readers.close()


def open_tools(settings: Settings, readers: int) -> Tools:
    """The tools of one worker process; its readers start when first needed."""
    from triage.sandbox.pool import SandboxPool

    owner = f"{socket.gethostname()}:{os.getpid()}:{new_id('w', utc_now())}"
    pool = SandboxPool(readers, settings.parse_memory_bytes, settings.reader_resident_bytes)
    return Tools(pool, Guard(settings.webhook_allow), owner)


def perform(ctx: Context, tools: Tools, kind: WorkKind, work_id: int | None = None) -> bool:
    """Do the next due piece of work of this kind; False when there was none.

    ``work_id`` only says who rang: what stands first in line is done.
    """
    if tools.stopping.is_set():
        return False
    owed = claim(ctx, tools, kind)
    if not owed:
        return False
    about: dict[str, object] = {"rung_for": work_id, "kind": str(kind)}
    about |= {"work_id": owed[0].id, "key": owed[0].key, "items": len(owed)}
    with structlog.contextvars.bound_contextvars(**about):
        with Lease(ctx, tools, owed):
            error = attempt(ctx, tools, owed)
        for one in owed if error is not None else ():
            failed(ctx, tools, one, error or "")
    return True


def claim(ctx: Context, tools: Tools, kind: WorkKind) -> list[WorkView]:
    """What is done next, from now on held: one thing, or some uploads of one job."""
    lease_s, now = ctx.settings.lease_s, utc_now()
    with ctx.database.writing() as session:
        first = work.claim(session, kind, tools.owner, now, lease_s)
        if first is None:
            return []
        if kind is not WorkKind.PARSE:
            return [first]
        beside = work.claim_beside(
            session, first, tools.owner, now, lease_s, most=TOGETHER - 1, most_bytes=TOGETHER_BYTES
        )
        return [first, *beside]


def attempt(ctx: Context, tools: Tools, owed: list[WorkView]) -> str | None:
    """Do it and write its end; why not, if not."""
    try:
        done = TASKS[owed[0].kind](ctx, tools, owed)
        with ctx.database.writing() as session:
            mine = work.finish_all(session, owed, tools.owner, utc_now(), again_at=done.again_at)
            if mine and done.write is not None:
                done.write(session)
    except TriageError as error:
        log.warning("work failed", why=str(error))
        return str(error)
    except Exception as error:  # the edge: the item fails, the worker goes on
        log.exception("work failed")
        return f"{type(error).__name__}: {error}"
    if not mine:
        return "its lease had run out, and another worker may have it"
    if done.after is not None:
        done.after()
    return None


def failed(ctx: Context, tools: Tools, owed: WorkView, error: str) -> None:
    """To be tried again, or given up."""
    try:
        with ctx.database.writing() as session:
            rows: list[int] = []
            if work.fail(session, owed, tools.owner, utc_now(), error, ctx.settings.max_tries):
                rows = give_up(session, ctx.settings, owed, error)
        wake_for(ctx, rows)
    except TriageError as again:
        # Its lease will run out, and the sweeper take it up.
        log.warning("the failure could not be written", why=str(again))


def give_up(session: Session, settings: Settings, owed: WorkView, why: str) -> list[int]:
    """What follows when a piece of work is quarantined; rows of messages that tell it."""
    if owed.kind is WorkKind.PARSE:
        parse_given_up(session, owed.key, why)
    elif owed.kind is WorkKind.ANALYSE:
        return analyse_given_up(session, settings, owed.key, why)
    return []


class Lease:
    """Renews a claim while the work is done."""

    def __init__(self, ctx: Context, tools: Tools, owed: Sequence[WorkView]) -> None:
        self.ctx, self.tools, self.owed = ctx, tools, owed
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, name="lease", daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()

    def run(self) -> None:
        """Until the work ends, or somebody else was given it."""
        lease_s = self.ctx.settings.lease_s
        while not self.ended.wait(lease_s / RENEWALS):
            try:
                with self.ctx.database.writing() as session:
                    until = utc_now() + timedelta(seconds=lease_s)
                    kept = [
                        work.renew(session, one.id, self.tools.owner, until) for one in self.owed
                    ]
                if not any(kept):
                    return
            except TriageError as error:
                log.warning("lease not renewed", why=str(error))


def do_parse(ctx: Context, tools: Tools, owed: Sequence[WorkView]) -> Done:
    return parse(ctx, tools.readers, [one.key for one in owed])


def do_analyse(ctx: Context, tools: Tools, owed: Sequence[WorkView]) -> Done:
    return analyse(ctx, tools.readers, owed[0])


def do_notify(ctx: Context, tools: Tools, owed: Sequence[WorkView]) -> Done:
    return deliver(ctx, tools.guard, owed[0])


def do_retention(ctx: Context, tools: Tools, owed: Sequence[WorkView]) -> Done:  # noqa: ARG001
    if owed[0].key == DIGEST:
        # What it is worked out with takes memory that few workers ever need.
        from triage.services.notifications.weekly_report import send_digest

        return send_digest(ctx)
    return prune_by_settings(ctx)


TASKS: Final[dict[WorkKind, Callable[[Context, Tools, Sequence[WorkView]], Done]]] = {
    WorkKind.PARSE: do_parse,
    WorkKind.ANALYSE: do_analyse,
    WorkKind.NOTIFY: do_notify,
    WorkKind.RETENTION: do_retention,
}
