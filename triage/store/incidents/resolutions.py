"""What incidents turned out to be."""

from dataclasses import fields

from sqlalchemy.orm import Session

from models import Incident, Resolution
from triage.store.views import ResolutionView

__all__ = ["put"]


def put(session: Session, incident_id: str, said: ResolutionView) -> None:
    """What a person says it was; it replaces what was said before."""
    row = session.get(Resolution, incident_id)
    if row is None:
        row = Resolution(incident_id=incident_id)
        session.add(row)
    for field in fields(said):
        setattr(row, field.name, getattr(said, field.name))
    incident = session.get_one(Incident, incident_id)
    incident.updated_at = said.resolved_at
    session.flush()
