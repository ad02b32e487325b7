"""Old incidents are removed; before them, the raw bytes of their files."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.errors import Conflict, Unprocessable
from triage.services.context import Context
from triage.services.retention.ownership import ADOPT, announce
from triage.services.retention.sweep import Swept, sweep
from triage.store import node_notices
from triage.store.access import audit, idempotency
from triage.store.database.clock import watch_clock
from triage.store.incidents import retention
from triage.store.incidents.retention import own_periods, set_periods
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


def _subtract_days(now: datetime, days: float) -> datetime:
    return now - timedelta(days=days)


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
    """Remove settled incidents older than that, and blobs older than that; a cluster that has
    days of its own goes by those.

    Digests, evidence and answers of an incident stay as long as it does. An incident that
    a person has resolved stays too: it is a label.

    Raises :class:`Conflict`, and removes nothing, where the blob store is not ours alone.
    """
    now = read_utc_now()
    if not dry_run and (owner := announce(ctx)).strangers:
        raise Conflict(owner.words, hint=ADOPT)
    incidents_before = _subtract_days(now, older_than_days)
    blobs_before = _subtract_days(now, blobs_older_than_days)
    with ctx.database.reading() as session:
        periods = own_periods(session)
        own = {it.cluster_id: _subtract_days(now, it.keep_days) for it in periods if it.keep_days}
        own_blobs = {
            it.cluster_id: _subtract_days(now, it.keep_blobs_days)
            for it in periods
            if it.keep_blobs_days
        }
        old = retention.list_old_incidents(session, incidents_before, own)
        uploads = retention.list_old_uploads(session, blobs_before, of=old, own=own_blobs)
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
        node_notices.prune(session, _subtract_days(now, ctx.settings.keep_events_days))
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


def keep_for(
    ctx: Context, cluster: str, days: float | None, blobs_days: float | None, actor: str
) -> None:
    """Keep incidents and raw bytes of a cluster for so many days; None: as the settings say.

    Raises :class:`Unprocessable` for a name that is none, and for days that are not above 0.
    """
    if not cluster.strip() or any(one is not None and not one > 0 for one in (days, blobs_days)):
        raise Unprocessable(
            "a cluster has a name, and is kept for more than 0 days",
            hint="leave an option out to go by the settings",
        )
    now = read_utc_now()
    with ctx.database.writing() as session:
        set_periods(session, cluster, days, blobs_days)
        detail = {"keep_days": days, "keep_blobs_days": blobs_days}
        audit.note(session, actor, "retention.set", cluster, now, detail)
