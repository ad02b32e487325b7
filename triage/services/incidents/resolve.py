"""A person says what an incident turned out to be."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.category import Category
from triage.errors import NotFound, Place, Unprocessable
from triage.notify.message import Event
from triage.services.context import Context
from triage.services.notifications.outbox import tell
from triage.store.access import audit
from triage.store.incidents import resolutions
from triage.store.views import ResolutionView

MAX_NOTE: int = 10_000


def resolve(
    ctx: Context,
    incident_id: str,
    category: str,
    node: str | None,
    note: str | None,
    actor: str,
    *,
    also: Callable[[Session, ResolutionView], None] | None = None,
) -> ResolutionView:
    """Kept as the label that accuracy is measured by; said again, it is replaced.

    ``also`` is called in the same transaction.
    Raises :class:`NotFound`, and :class:`Unprocessable` for a category that is none.
    """
    if category not in set(Category):
        raise Unprocessable(
            "the category is not known",
            hint=f"give one of {', '.join(Category)}",
            places=(Place("body/category", "not a category"),),
        )
    if note is not None and len(note) > MAX_NOTE:
        raise Unprocessable(
            f"the note has {len(note):,} characters; at most {MAX_NOTE:,} are kept",
            hint="put the long story into a ticket and its address into the note",
            places=(Place("body/note", "too long"),),
        )
    now = read_utc_now()
    said = ResolutionView(category, node, note, actor, now)
    with ctx.database.writing() as session:
        if not resolutions.put(session, incident_id, said):
            raise NotFound("there is no such incident", hint="GET /v1/incidents lists them")
        audit.note(session, actor, "resolve", incident_id, now, {"category": category})
        tell(session, ctx.settings, incident_id, Event.RESOLVED, now)
        ctx.acting.resolved(session, ctx.settings, incident_id, now)
        if also is not None:
            also(session, said)
    return said
