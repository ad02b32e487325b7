"""A person says what an incident turned out to be.

What could not be read, or was read with other signatures, is read again, because somebody
says so.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.category import Category
from triage.errors import NotFound, Place, Unprocessable
from triage.notify.message import Event
from triage.services.context import Context
from triage.services.notifications.outbox import tell
from triage.store.access import audit
from triage.store.incidents import incidents, settling
from triage.store.uploads import artifacts
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
        if not settling.put(session, incident_id, said):
            raise NotFound("there is no such incident", hint="GET /v1/incidents lists them")
        audit.note(session, actor, "resolve", incident_id, now, {"category": category})
        tell(session, ctx.settings, incident_id, Event.RESOLVED, now)
        ctx.acting.resolved(session, ctx.settings, incident_id, now)
        if also is not None:
            also(session, said)
    return said


@dataclass(frozen=True, slots=True)
class Retried:
    """What is to be read, and answered, again."""

    num_incidents: int
    num_files: int


def retry(
    ctx: Context, incident_id: str | None = None, actor: str = "local", *, all_logs: bool = False
) -> Retried:
    """Read again what could not be read, of one incident or of all; with ``all_logs``, of one
    incident, also the logs that were read.

    Raises :class:`NotFound` for an incident that is not there.
    """
    with ctx.database.reading() as session:
        if incident_id is not None and incidents.find(session, incident_id) is None:
            raise NotFound(f"there is no incident {incident_id}")
        if all_logs and incident_id is not None:
            found = [incident_id]
        else:
            found = artifacts.list_incidents_to_retry(session, incident_id)
    num_files = 0
    for one in found:
        now = read_utc_now()
        with ctx.database.writing() as session:
            num = artifacts.read_again(session, one, now, all_logs=all_logs)
            audit.note(session, actor, "retry", one, now, {"files": num})
        num_files += num
    return Retried(len(found), num_files)
