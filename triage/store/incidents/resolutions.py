"""What incidents turned out to be."""

from dataclasses import fields

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Incident, Resolution
from triage.store.database.row_locks import lock_rows
from triage.store.views import ResolutionView


def put(session: Session, incident_id: str, said: ResolutionView) -> bool:
    """What a person says it was; it replaces what was said before. False for no such incident.

    The incident is locked: of two that speak at once, one is the later.
    """
    query = select(Incident).where(Incident.id == incident_id)
    incident = lock_rows(session, query).one_or_none()
    if incident is None:
        return False
    row = session.get(Resolution, incident_id)
    if row is None:
        row = Resolution(incident_id=incident_id)
        session.add(row)
    for field in fields(said):
        setattr(row, field.name, getattr(said, field.name))
    incident.updated_at = said.resolved_at
    session.flush()
    return True
