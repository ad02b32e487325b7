"""Words of acts that several use-cases share."""

from triage.actions.names import reason_of
from triage.actions.schedulers.choice import scheduler_of
from triage.actions.services.rules import Convicted
from triage.domain.acting import Verb
from triage.domain.category import Category
from triage.errors import TriageError
from triage.settings import Settings
from triage.store.views import IncidentView

__all__ = ["command_of", "why_of"]


def why_of(one: Convicted, incident: IncidentView) -> str:
    """Why the node is to be taken out, in a clause."""
    return f"convicted of {one.category} at {one.confidence:.2f} in the job {incident.job_id}"


def command_of(settings: Settings, verb: Verb, one: Convicted, incident_id: str) -> str | None:
    """The act as a command to paste; None for an exclusion, or where no scheduler can be set up."""
    if verb is Verb.EXCLUDE:
        return None
    reason = reason_of(incident_id, Category(one.category), one.confidence)
    try:
        scheduler = scheduler_of(settings)
        return None if scheduler is None else scheduler.command(str(verb), one.node, reason)
    except (TriageError, OSError):
        return None
