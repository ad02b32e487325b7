"""Old incidents are removed; before them, the raw bytes of their files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from triage.clock import utc_now
from triage.services.context import Context
from triage.store.access import audit, idempotency
from triage.store.database.ids import made_at
from triage.store.incidents import retention
from triage.store.messages import deliveries

__all__ = ["Pruned", "prune"]

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
    with ctx.database.writing() as session:
        idempotency.prune(session, now)
        deliveries.prune_digests(session, incidents_before)
    ctx.blobs.sweep()
    remove_orphans(ctx, now - DAY)
    log.info("pruned", incidents=num_incidents, uploads=num_uploads, stored_bytes=stored_bytes)
    return Pruned(num_incidents, num_uploads, stored_bytes)


def remove_orphans(ctx: Context, before: datetime) -> int:
    """Remove blobs that no row knows: their request was answered with an error; how many."""
    removed = 0
    for keys in batched(ctx.blobs.keys(), BATCH):
        aged = [key for key in keys if (at := made_at(key)) is not None and at < before]
        with ctx.database.reading() as session:
            known = retention.known_blobs(session, aged)
        for key in aged:
            if key not in known:
                ctx.blobs.delete(key)
                removed += 1
    return removed


def batched(keys: Iterable[str], size: int) -> Iterator[list[str]]:
    group: list[str] = []
    for key in keys:
        group.append(key)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
