"""What goes by age: old incidents and, before them, the raw bytes of their files.

Only bytes that rows of this database have named are deleted by themselves. So a database that is
new, a copy or an older state, and another installation on the same blob store, lose nothing to
each other. Blobs without rows (their request was answered with an error, or their rows are gone)
go when a person says so.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.errors import Conflict
from triage.services.context import Context
from triage.store import node_notices
from triage.store.access import audit, idempotency
from triage.store.database.clock import watch_clock
from triage.store.database.ids import parse_made_at
from triage.store.incidents import past
from triage.store.messages import deliveries
from triage.store.retention import unreferenced

log = structlog.get_logger(__name__)
# Of one transaction.
_BATCH: Final = 50
_MANY: Final = 500
# An upload that is going on has a blob and no rows for some seconds; a database that was restored
# to an older state knows none of the days since.
_UNNAMED_FOR: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, or would be; ``stored_bytes`` are of the blobs."""

    num_incidents: int
    num_uploads: int
    stored_bytes: int


def believe_clock(ctx: Context) -> None:
    """Raises :class:`Conflict` where the time has jumped: then nothing is deleted by age."""
    with ctx.database.writing() as session:
        doubt = watch_clock(session, read_utc_now())
    if doubt:
        raise Conflict(doubt, hint="set the clock right; `triage doctor` says how it stands")


def prune(
    ctx: Context,
    older_than_days: float,
    blobs_older_than_days: float,
    *,
    dry_run: bool = False,
    actor: str = "local",
) -> Pruned:
    """Remove settled incidents older than that, and blobs older than that.

    Digests, evidence and answers of an incident stay as long as it does. An incident that
    a person has resolved stays too: it is a label.
    """
    now = read_utc_now()
    incidents_before = now - timedelta(days=older_than_days)
    blobs_before = now - timedelta(days=blobs_older_than_days)
    with ctx.database.reading() as session:
        old = past.list_old_incidents(session, incidents_before)
        uploads = past.list_old_blobs(session, blobs_before, incidents_before)
    found = Pruned(len(old), len(uploads), sum(size for _, size in uploads))
    if dry_run:
        return found
    for keys in split_into_batches([key for key, _ in uploads], _BATCH):
        with ctx.database.writing() as session:
            unreferenced.forget_stored(session, keys, now)
    for part in split_into_batches(old, _BATCH):
        with ctx.database.writing() as session:
            past.remove(session, part)
            audit.note(session, actor, "prune", "incidents", now, {"incidents": len(part)})
    with ctx.database.writing() as session:
        idempotency.prune(session, now)
        node_notices.prune(session, now - timedelta(days=ctx.settings.keep_events_days))
        deliveries.prune_digests(session, incidents_before)
    ctx.blobs.sweep()
    finish_erasures(ctx)
    log.info("pruned", **asdict(found))
    return found


def finish_erasures(ctx: Context) -> int:
    """Delete the bytes of what was erased or is too old; how many blobs."""
    with ctx.database.reading() as session:
        keys = unreferenced.list_marked(session)
    for key in keys:
        ctx.blobs.delete(key)
    for part in split_into_batches(keys, _MANY):
        with ctx.database.writing() as session:
            unreferenced.forget(session, part)
    return len(keys)


def sweep(ctx: Context, now: datetime, *, dry_run: bool = False) -> tuple[int, int]:
    """Delete blobs of more than a week ago that no row names: those of other databases, too.

    So many blobs lie in the store; so many of them were removed, or would be.
    """
    num_blobs = num_unnamed = 0
    for keys in split_into_batches(ctx.blobs.keys(), _MANY):
        num_blobs += len(keys)
        old = [key for key in keys if (at := parse_made_at(key)) and at < now - _UNNAMED_FOR]
        with ctx.database.reading() as session:
            unnamed = set(old) - unreferenced.find_known_blobs(session, old)
        num_unnamed += len(unnamed)
        for key in () if dry_run else unnamed:
            ctx.blobs.delete(key)
    return num_blobs, num_unnamed
