"""What an act rests on: the newest answer to an incident, and who brought its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import ApiKey, Artifact, Incident, IncidentFacts, Job, Suspect, Upload
from triage.domain.facts import FactsState
from triage.domain.states import ArtifactState
from triage.store.incidents import incidents
from triage.store.views import IncidentView

__all__ = ["Standing", "standing_of"]


@dataclass(frozen=True, slots=True)
class Standing:
    """An incident as it stands now.

    ``suspects`` are those of its newest answer, as reports print them. ``answered`` is whether
    that answer knows all that has come in. ``doubted`` names a token that brought something of
    it and is no longer believed, or is bound to another cluster; None where there is none.
    """

    incident: IncidentView
    cluster_id: int
    suspects: Sequence[dict[str, Any]]
    answered: bool
    doubted: str | None


def standing_of(session: Session, incident_id: str) -> Standing | None:
    """How an incident stands; None where there is none of this id."""
    incident = incidents.find(session, incident_id)
    row = session.execute(
        select(Incident.inputs, Incident.answered_inputs, Job.cluster_id)
        .join(Job, Job.id == Incident.job_fk)
        .where(Incident.id == incident_id)
    ).one_or_none()
    if incident is None or row is None:
        return None
    suspects = session.scalars(
        select(Suspect.row).where(Suspect.incident_id == incident_id).order_by(Suspect.position)
    ).all()
    unread = incidents.stored(session, incident_id) > 0
    return Standing(
        incident,
        row.cluster_id,
        suspects,
        answered=row.answered_inputs >= row.inputs and not unread,
        doubted=doubted(session, incident_id, incident.cluster),
    )


def doubted(session: Session, incident_id: str, cluster: str | None) -> str | None:
    """A token whose word or files still count in the incident, and must not; why not."""
    files = (
        select(Upload.key_id)
        .join(Artifact, Artifact.upload_id == Upload.id)
        .where(
            Artifact.incident_id == incident_id,
            Artifact.state.in_([ArtifactState.ANALYSED, ArtifactState.PARTIAL]),
        )
    )
    words = select(IncidentFacts.key_id).where(
        IncidentFacts.incident_id == incident_id,
        IncidentFacts.state.in_([FactsState.USED, FactsState.LATE]),
    )
    keys = session.execute(
        select(ApiKey.id, ApiKey.tainted_at, ApiKey.cluster)
        .where(ApiKey.id.in_(files.union(words)))
        .order_by(ApiKey.id)
    )
    for key_id, tainted_at, bound in keys:
        if tainted_at is not None:
            return f"the token {key_id}, which is no longer believed"
        if bound is not None and bound != (cluster or ""):
            return f"the token {key_id}, which is bound to the cluster {bound!r}"
    return None
