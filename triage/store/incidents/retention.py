"""What is old enough to go."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, or_, select, update
from sqlalchemy.orm import Session, load_only

from models import Incident, Resolution, Upload, Work
from triage.domain.states import WorkKind
from triage.store.database.upsert import lock_rows
from triage.store.incidents.past import remember


@dataclass(frozen=True, slots=True)
class OldUpload:
    """An upload whose bytes may go."""

    id: str
    blob_key: str
    stored_bytes: int


def _is_old(before: datetime) -> ColumnElement[bool]:
    """Whether an incident settled before then, and no person has resolved it."""
    return and_(Incident.settled_at < before, Resolution.incident_id.is_(None))


def list_old_incidents(session: Session, before: datetime) -> list[str]:
    """Those that settled before then, and that no person has resolved."""
    return list(
        session.scalars(
            select(Incident.id)
            .outerjoin(Resolution, Resolution.incident_id == Incident.id)
            .where(_is_old(before))
            .order_by(Incident.created_at)
        )
    )


def list_old_uploads(
    session: Session, before: datetime, incidents_before: datetime
) -> list[OldUpload]:
    """Uploads of settled incidents that came before then, and all of incidents that are older than
    ``incidents_before``.
    """
    rows = session.execute(
        select(Upload.id, Upload.blob_key, Upload.stored_bytes)
        .join(Incident, Incident.id == Upload.incident_id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(Upload.blob_key.is_not(None), Incident.settled_at.is_not(None))
        .where(or_(Upload.created_at < before, _is_old(incidents_before)))
        .order_by(Upload.created_at)
    )
    return [OldUpload(upload_id, key or "", size) for upload_id, key, size in rows]


def forget_blob(session: Session, upload_id: str) -> None:
    """Its bytes are about to go."""
    session.execute(update(Upload).where(Upload.id == upload_id).values(blob_key=None))


def remove(session: Session, incident_ids: Sequence[str], *, remembered: bool = True) -> None:
    """Incidents and everything of theirs; what the record of the fleet needs of them stays, where
    they are to be ``remembered``.
    """
    if not incident_ids:
        return
    gone = Incident.id.in_(incident_ids)
    lock_rows(
        session, select(Incident).options(load_only(Incident.id)).where(gone).order_by(Incident.id)
    ).all()
    if remembered:
        remember(session, incident_ids)
    session.execute(delete(Work).where(Work.kind == WorkKind.ANALYSE, Work.key.in_(incident_ids)))
    uploads = select(Upload.id).where(Upload.incident_id.in_(incident_ids))
    session.execute(delete(Work).where(Work.kind == WorkKind.PARSE, Work.key.in_(uploads)))
    session.execute(delete(Incident).where(gone))
