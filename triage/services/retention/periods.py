"""Days for which a cluster's incidents and files are kept, set by a person."""

from triage.clock import utc_now
from triage.errors import Unprocessable
from triage.services.context import Context
from triage.store.access import audit
from triage.store.retention.periods import set_periods

__all__ = ["keep_for"]


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
    now = utc_now()
    with ctx.database.writing() as session:
        set_periods(session, cluster, days, blobs_days)
        detail = {"keep_days": days, "keep_blobs_days": blobs_days}
        audit.note(session, actor, "retention.set", cluster, now, detail)
