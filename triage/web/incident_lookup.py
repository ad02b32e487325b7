"""Incident lookup: the incident that an address names."""

from sqlalchemy.orm import Session
from starlette.requests import Request

from triage.api.access import get_caller
from triage.api.requests.values import check_id
from triage.api.state import get_state
from triage.errors import NotFound
from triage.store.incidents import incidents
from triage.store.views import IncidentView


def find_incident(request: Request, session: Session, incident_id: str) -> IncidentView:
    """The incident of this id, where the visitor's token reaches it. Raises :class:`NotFound`."""
    incident = incidents.find(session, check_id(incident_id, "incident", ""))
    if incident is None or not get_caller(request).sees(incident.cluster):
        raise NotFound("there is no such incident", hint="the list names those that there are")
    return incident


def find_page_incident(request: Request, incident_id: str) -> IncidentView:
    """The incident of this id, read in a session of its own. Raises :class:`NotFound`."""
    with get_state(request).context.database.reading() as session:
        return find_incident(request, session, incident_id)
