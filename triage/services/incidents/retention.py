"""Old incidents are removed; before them, the raw bytes of their files."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import structlog

from triage.clock import utc_now
from triage.errors import Conflict
from triage.services.context import Context
from triage.services.retention.ownership import ADOPT, announce
from triage.services.retention.sweep import Swept, sweep
from triage.store import node_notices
from triage.store.access import audit, idempotency
from triage.store.database.clock import watch_clock
from triage.store.incidents import retention
from triage.store.messages import deliveries
from triage.store.retention.periods import own_periods

__all__ = ["Pruned", "believe_clock", "prune"]

log = structlog.get_logger(__name__)
# Removed in one transaction.
BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, or would be; ``stored_bytes`` are of the blobs."""

    num_incidents: int
    num_uploads: int
    stored_bytes: int
    swept: Swept | None = field(default=None, compare=False)
    """What became of blobs that no row refers to; None where nothing was removed."""


def days_ago(now: datetime, days: float) -> datetime:
    return now - timedelta(days=days)


def believe_clock(ctx: Context) -> None:
    """Raises :class:`Conflict` where the time has jumped: then nothing is deleted by age."""
    with ctx.database.writing() as session:
        doubt = watch_clock(session, utc_now())
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
    """Remove settled incidents older than that, and blobs older than that; a cluster that has
    days of its own goes by those.

    Digests, evidence and answers of an incident stay as long as it does. An incident that
    a person has resolved stays too: it is a label.

    Raises :class:`Conflict`, and removes nothing, where the blob store is not ours alone.
    """
    now = utc_now()
    if not dry_run and (owner := announce(ctx)).strangers:
        raise Conflict(owner.words, hint=ADOPT)
    incidents_before = days_ago(now, older_than_days)
    blobs_before = days_ago(now, blobs_older_than_days)
    with ctx.database.reading() as session:
        own = own_periods(session)
        old = retention.old_incidents(
            session,
            incidents_before,
            {one.cluster_id: days_ago(now, one.keep_days) for one in own if one.keep_days},
        )
        uploads = retention.old_uploads(
            session,
            blobs_before,
            of=old,
            own={
                one.cluster_id: days_ago(now, one.keep_blobs_days)
                for one in own
                if one.keep_blobs_days
            },
        )
    num_uploads = len(uploads)
    stored_bytes = sum(one.stored_bytes for one in uploads)
    num_incidents = len(old)
    if dry_run:
        return Pruned(num_incidents, num_uploads, stored_bytes)
    for one in uploads:
        with ctx.database.writing() as session:
            retention.forget_blob(session, one.id)
        ctx.blobs.delete(one.blob_key)
    for start in range(0, len(old), BATCH):
        with ctx.database.writing() as session:
            retention.remove(session, old[start : start + BATCH])
            detail = {"incidents": len(old[start : start + BATCH])}
            audit.note(session, actor, "prune", "incidents", now, detail)
    with ctx.database.writing() as session:
        idempotency.prune(session, now)
        node_notices.prune(session, days_ago(now, ctx.settings.keep_events_days))
        deliveries.prune_digests(session, incidents_before)
    ctx.blobs.sweep()
    swept = sweep(ctx, now)
    log.info("pruned", incidents=num_incidents, uploads=num_uploads, stored_bytes=stored_bytes)
    return Pruned(num_incidents, num_uploads, stored_bytes, swept)
