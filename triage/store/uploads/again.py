"""Files that could not be read, read again: from the bytes that are stored, or from new ones."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session

from models import Artifact, Incident, Upload, Work
from triage.domain.file_kind import LOGS
from triage.domain.states import ArtifactState, IncidentState, WorkKind, WorkState
from triage.store.database.upsert import lock_rows
from triage.store.uploads.set_apart import is_believed
from triage.store.views import ArtifactView
from triage.store.work import table as work

_SETTLED = (IncidentState.READY, IncidentState.FAILED)


def find_to_bring_again(
    session: Session, incident_id: str, identities: Iterable[str]
) -> Mapping[str, str]:
    """Which of these the incident has, and cannot read: identity -> id. What was refused as it
    came in is refused again.
    """
    query = (
        select(Artifact.identity, Artifact.id)
        .outerjoin(Work, and_(Work.kind == WorkKind.PARSE, Work.key == Artifact.upload_id))
        .where(Artifact.incident_id == incident_id, Artifact.identity.in_(list(identities)))
        .where(
            or_(
                _is_set_apart(),
                and_(
                    Artifact.state == ArtifactState.STORED,
                    or_(Work.waiting_for.is_not(None), Work.state == WorkState.QUARANTINED),
                ),
            )
        )
    )
    return {row.identity: row.id for row in session.execute(query)}


def bring_again(
    session: Session, upload_id: str, known: Mapping[str, str], files: Sequence[ArtifactView]
) -> None:
    """From now on the bytes of these files are those of a new upload, and are to be read."""
    for file in files:
        fresh: dict[str, Any] = {
            "upload_id": upload_id,
            "position": file.position,
            "stored_bytes": file.stored_bytes,
            "state": str(ArtifactState.STORED),
            "reason": file.reason,
            "tries": 0,
        }
        session.execute(update(Artifact).where(Artifact.id == known[file.identity]).values(**fresh))


def list_incidents_to_retry(session: Session, incident_id: str | None) -> list[str]:
    """Incidents that failed, or have files that could not be read; of all, or whether this one."""
    unread = select(Artifact.incident_id).where(_is_set_apart(), is_believed())
    owed = (
        select(Artifact.incident_id)
        .join(Work, and_(Work.kind == WorkKind.PARSE, Work.key == Artifact.upload_id))
        .where(or_(Work.state == WorkState.QUARANTINED, Work.waiting_for.is_not(None)))
    )
    query = select(Incident.id).where(
        or_(Incident.state == IncidentState.FAILED, Incident.id.in_(unread), Incident.id.in_(owed))
    )
    if incident_id is not None:
        query = query.where(Incident.id == incident_id)
    return list(session.scalars(query.order_by(Incident.id)))


def read_again(session: Session, incident_id: str, now: datetime, *, all_logs: bool = False) -> int:
    """Have what could not be read of an incident read again, and then answered; how many files.

    ``all_logs`` are read again as well, of which bytes are stored. What a token brought that is no
    longer believed stays apart.
    """
    incident = lock_rows(session, select(Incident).where(Incident.id == incident_id)).one()
    there = select(Upload.id).where(Upload.incident_id == incident_id, Upload.blob_key.is_not(None))
    session.execute(
        update(Artifact)
        .where(Artifact.incident_id == incident_id, is_believed())
        .where(or_(_is_set_apart(), _is_read_log()) if all_logs else _is_set_apart())
        .where(Artifact.upload_id.in_(there))
        .values(state=str(ArtifactState.STORED), reason=None, tries=0)
        .execution_options(synchronize_session=False)
    )
    found = session.execute(
        select(Artifact.upload_id, func.count())
        .where(Artifact.incident_id == incident_id, Artifact.state == ArtifactState.STORED)
        .group_by(Artifact.upload_id)
    ).all()
    for upload_id, _ in found:
        work.enqueue(session, WorkKind.PARSE, upload_id, now)
    if incident.state in _SETTLED and (found or incident.state == IncidentState.FAILED):
        incident.state = IncidentState.ANALYSING
        incident.reason = None
    work.enqueue(session, WorkKind.ANALYSE, incident_id, now)
    return sum(number for _, number in found)


def _is_read_log() -> ColumnElement[bool]:
    """A log that was read, and whose bytes were stored."""
    return and_(
        Artifact.state.in_([ArtifactState.ANALYSED, ArtifactState.PARTIAL]),
        Artifact.kind.in_(LOGS),
        Artifact.stored_bytes > 0,
    )


def _is_set_apart() -> ColumnElement[bool]:
    """No reader got through it, and its bytes were stored."""
    return and_(Artifact.state == ArtifactState.QUARANTINED, Artifact.stored_bytes > 0)
