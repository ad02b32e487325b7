"""A token is no longer believed: what it brought is set apart, and answers are made again.

A leaked token may have brought evidence of any kind. All of it carries the token's id, so it can
be found; what others brought stays, and counts as if the token had never spoken.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from triage.clock import read_utc_now
from triage.errors import UsageError
from triage.services.context import Context
from triage.store import node_notices
from triage.store.access import audit, keys
from triage.store.incidents import facts, settling
from triage.store.messages import subscriptions
from triage.store.uploads import artifacts
from triage.store.views import KeyView


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a token has brought, or what of it was set apart: how much of each kind, and the
    incidents it speaks of.
    """

    key: KeyView
    counts: Mapping[str, int]
    incidents: tuple[str, ...]


def count_contribution(ctx: Context, key_id: str, since: datetime | None = None) -> Contribution:
    """What a token has brought, from ``since`` on. Raises :class:`UsageError` for none of this id.

    A run counts by when it was last seen, a check and telemetry by when they were taken.
    """
    with ctx.database.reading() as session:
        key = keys.find(session, key_id)
        if key is None:
            raise UsageError(f"there is no token {key_id}: see `triage token list`")
        num_uploads, num_files = artifacts.count_brought(session, key_id, since)
        files_of = artifacts.list_incidents_brought(session, key_id, since)
        facts_of = facts.list_incidents_told_by(session, key_id, since, tainted=True)
        counts = {
            "uploads": num_uploads,
            "files": num_files,
            "facts": len(facts_of),
            "events": node_notices.count_brought(session, key_id),
            **ctx.fleet.num_brought(session, key_id, since),
            "callbacks": len(subscriptions.list_callbacks(session, key_id)),
        }
    return Contribution(key, counts, tuple(sorted({*files_of, *facts_of})))


def taint_token(
    ctx: Context, key_id: str, actor: str, since: datetime | None = None
) -> Contribution:
    """End a token, and set apart what it brought from ``since`` on; again, it is the same.

    The incidents that it speaks of are answered again. What it brought to the fleet's record is
    removed, and so are all events of it that are kept. Raises :class:`UsageError` for none of this
    id.
    """
    now = read_utc_now()
    count_contribution(ctx, key_id)
    with ctx.database.writing() as session:
        keys.revoke(session, key_id, now)
        keys.set_tainted(session, key_id, now)
        callbacks = subscriptions.list_callbacks(session, key_id)
        for callback in callbacks:
            subscriptions.remove(session, callback)
    # From here on no request of the token is kept, also none that was let in before.
    brought = count_contribution(ctx, key_id, since)
    counts: Counter[str] = Counter(callbacks=len(callbacks))
    for incident_id in brought.incidents:
        with ctx.database.writing() as session:
            # Files before their incident, as their readers lock them: no deadlock.
            counts["files"] += artifacts.set_apart(session, incident_id, key_id, since)
            settling.note_change(session, incident_id, now)
            counts["facts"] += facts.taint_statements(
                session, incident_id, key_id, ctx.settings.quiet_s, now, since
            )
    with ctx.database.writing() as session:
        counts["events"] = node_notices.withdraw(session, key_id)
        counts.update(ctx.fleet.withdraw(session, key_id, since))
        told = {} if since is None else {"since": since.isoformat()}
        detail = {**counts, "incidents": len(brought.incidents), **told}
        audit.note(session, actor, "taint token", key_id, now, detail)
    return replace(brought, counts=dict(counts))
