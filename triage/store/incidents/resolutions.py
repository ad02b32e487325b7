"""What incidents turned out to be."""

from datetime import datetime

from sqlalchemy.orm import Session

from models import Incident, Resolution
from triage.store.incidents.incidents import resolution_view
from triage.store.views import ResolutionView

__all__ = ["put"]


def put(
    session: Session,
    incident_id: str,
    *,
    category: str,
    node: str | None,
    note: str | None,
    said_by: str,
    now: datetime,
) -> ResolutionView:
    """What a person says it was; it replaces what was said before."""
    row = session.get(Resolution, incident_id)
    if row is None:
        row = Resolution(incident_id=incident_id)
        session.add(row)
    row.category, row.node, row.note = category, node, note
    row.said_by, row.resolved_at = said_by, now
    incident = session.get_one(Incident, incident_id)
    incident.updated_at = now
    session.flush()
    return resolution_view(row)
