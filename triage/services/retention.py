"""Old incidents are removed; before them, the raw bytes of their files."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from triage.services.context import Context, utc_now
from triage.services.done import Done
from triage.store import audit, retention

__all__ = ["Pruned", "prune", "prune_by_settings"]

log = structlog.get_logger(__name__)
DAY: Final = timedelta(days=1)
# Removed in one transaction.
BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, or would be; ``stored_bytes`` are of the blobs."""

    num_incidents: int
    num_uploads: int
    stored_bytes: int


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
    now = utc_now()
    incidents_before = now - timedelta(days=older_than_days)
    blobs_before = now - timedelta(days=blobs_older_than_days)
    num_incidents = num_uploads = stored_bytes = 0
    with ctx.database.reading() as session:
        old = retention.old_incidents(session, incidents_before)
        uploads = retention.old_uploads(session, blobs_before, of=old)
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
    ctx.blobs.sweep()
    log.info("pruned", incidents=num_incidents, uploads=num_uploads, stored_bytes=stored_bytes)
    return Pruned(num_incidents, num_uploads, stored_bytes)


def prune_by_settings(ctx: Context) -> Done:
    """The daily round."""
    prune(ctx, ctx.settings.keep_days, ctx.settings.keep_blobs_days)
    return Done(again_at=utc_now() + DAY)
