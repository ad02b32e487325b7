"""The incident that an address names."""

from sqlalchemy.orm import Session
from starlette.requests import Request

from triage.api.requests.values import one_id
from triage.api.state import state_of
from triage.errors import NotFound
from triage.store.incidents import incidents
from triage.store.views import IncidentView

__all__ = ["incident_in", "the_incident"]


def incident_in(session: Session, incident_id: str) -> IncidentView:
    """The incident of this id. Raises :class:`NotFound`."""
    found = incidents.find(session, one_id(incident_id, "incident", ""))
    if found is None:
        raise NotFound("there is no such incident", hint="the list names those that there are")
    return found


def the_incident(request: Request, incident_id: str) -> IncidentView:
    """The same, in a session of its own."""
    with state_of(request).context.database.reading() as session:
        return incident_in(session, incident_id)
