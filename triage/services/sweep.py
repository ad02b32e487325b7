"""The sweeper: wakes workers again for rows that nobody holds, quarantines what killed too many.

Two of them do no harm: a row is claimed once, however often a worker is woken.
"""

from typing import Final

import structlog

from triage.domain.states import WorkKind
from triage.services.context import Context, utc_now
from triage.services.notifications.outbox import wake_for
from triage.services.perform import give_up
from triage.store import work

__all__ = ["sweep"]

log = structlog.get_logger(__name__)
# The next round wakes for the others.
MOST_RINGS: Final = 1000


def sweep(ctx: Context) -> int:
    """Take back what lost its worker and wake for everything that is due; how many rows."""
    now = utc_now()
    rows: list[int] = []
    with ctx.database.reading() as session:
        any_lost = work.any_lost(session, now)
    if any_lost:
        with ctx.database.writing() as session:
            for owed in work.lost(session, now, ctx.settings.max_tries):
                log.error("work quarantined", kind=str(owed.kind), key=owed.key, tries=owed.tries)
                rows += give_up(session, ctx.settings, owed, owed.last_error or "workers lost")
        wake_for(ctx, rows)
    with ctx.database.reading() as session:
        due = work.due(session, now, list(WorkKind), MOST_RINGS)
    by_kind: dict[WorkKind, list[int]] = {}
    for kind, row_id in due:
        by_kind.setdefault(kind, []).append(row_id)
    for kind, ids in by_kind.items():
        ctx.wakeups.notify(kind, ids)
    return len(due)
