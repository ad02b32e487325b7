"""Old incidents are removed; before them, the raw bytes of their files."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.errors import Conflict
from triage.services.context import Context
from triage.services.retention.ownership import ADOPT, announce
from triage.services.retention.sweep import Swept, sweep
from triage.store import node_notices
from triage.store.access import audit, idempotency
from triage.store.database.clock import watch_clock
from triage.store.incidents import retention
from triage.store.messages import deliveries

log = structlog.get_logger(__name__)
# Removed in one transaction.
_BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, or would be; ``stored_bytes`` are of the blobs."""

    num_incidents: int
    num_uploads: int
    stored_bytes: int
    swept: Swept | None = field(default=None, compare=False)
    """What became of blobs that no row refers to; None where nothing was removed."""


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

    Raises :class:`Conflict`, and removes nothing, where the blob store is not ours alone.
    """
    now = read_utc_now()
    if not dry_run and (owner := announce(ctx)).strangers:
        raise Conflict(owner.words, hint=ADOPT)
    incidents_before = now - timedelta(days=older_than_days)
    blobs_before = now - timedelta(days=blobs_older_than_days)
    with ctx.database.reading() as session:
        old = retention.list_old_incidents(session, incidents_before)
        uploads = retention.list_old_uploads(session, blobs_before, incidents_before)
    found = Pruned(len(old), len(uploads), sum(one.stored_bytes for one in uploads))
    if dry_run:
        return found
    for one in uploads:
        with ctx.database.writing() as session:
            retention.forget_blob(session, one.id)
        ctx.blobs.delete(one.blob_key)
    for start in range(0, len(old), _BATCH):
        with ctx.database.writing() as session:
            retention.remove(session, old[start : start + _BATCH])
            detail = {"incidents": len(old[start : start + _BATCH])}
            audit.note(session, actor, "prune", "incidents", now, detail)
    with ctx.database.writing() as session:
        idempotency.prune(session, now)
        node_notices.prune(session, now - timedelta(days=ctx.settings.keep_events_days))
        deliveries.prune_digests(session, incidents_before)
    ctx.blobs.sweep()
    swept = sweep(ctx, now)
    log.info(
        "pruned",
        incidents=found.num_incidents,
        uploads=found.num_uploads,
        stored_bytes=found.stored_bytes,
    )
    return replace(found, swept=swept)
