"""What acting on nodes does beside an incident."""

from datetime import datetime

from sqlalchemy.orm import Session

from triage.actions.services.acts import ActWriter
from triage.actions.store import acts
from triage.actions.store.evidence import load_standing
from triage.domain.acting import ActMode
from triage.services.context import ActingHooks
from triage.settings import Settings


class ActingOnNodes(ActingHooks):
    """By the rows of acts."""

    def answered(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """Propose what the answer of a settled incident asks for."""
        ActWriter(session, settings, now).answered(incident_id)

    def resolved(
        self, session: Session, settings: Settings, incident_id: str, now: datetime
    ) -> None:
        """Find acts that were wrong by what a person says."""
        standing = load_standing(session, incident_id)
        if standing is not None:
            ActWriter(session, settings, now).look_back(standing)

    def halted(self, session: Session, settings: Settings) -> str | None:
        """Why nothing is done to nodes; None where acts are done, or acting is off."""
        if settings.act_mode is ActMode.OFF:
            return None
        cluster_id = acts.find_cluster_id(session, settings.act_cluster)
        found = None if cluster_id is None else acts.find_halt(session, cluster_id)
        if found is None:
            return None
        return f"acts on nodes are halted since {found.at:%Y-%m-%d %H:%M}Z: {found.reason}"
