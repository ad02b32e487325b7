"""What is old enough to go.

For how long the incidents and files of a cluster are kept, where it has days of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session, load_only

from models import Cluster, Incident, Job, Resolution, Upload, Work
from triage.domain.states import WorkKind
from triage.store.database.upsert import lock_rows
from triage.store.incidents.past import remember
from triage.store.jobs import cluster_key


@dataclass(frozen=True, slots=True)
class ClusterRetention:
    """Days of one cluster; None where the settings hold for it."""

    cluster_id: int
    cluster: str
    keep_days: float | None
    keep_blobs_days: float | None


def own_periods(session: Session) -> list[ClusterRetention]:
    """The clusters that have days of their own, by name."""
    query = select(Cluster.id, Cluster.name, Cluster.keep_days, Cluster.keep_blobs_days).where(
        or_(Cluster.keep_days.is_not(None), Cluster.keep_blobs_days.is_not(None))
    )
    return [ClusterRetention(*row) for row in session.execute(query.order_by(Cluster.name))]


def set_periods(
    session: Session, cluster: str, keep_days: float | None, keep_blobs_days: float | None
) -> None:
    """Give a cluster, which is made if it is new, days of its own; None is the settings'."""
    key = cluster_key(session, cluster)
    values = {"keep_days": keep_days, "keep_blobs_days": keep_blobs_days}
    session.execute(update(Cluster).where(Cluster.id == key).values(**values))


_NONE_OF_THEIR_OWN: Final[Mapping[int, datetime]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OldUpload:
    """An upload whose bytes may go."""

    id: str
    blob_key: str
    stored_bytes: int


def list_old_incidents(
    session: Session, before: datetime, own: Mapping[int, datetime] = _NONE_OF_THEIR_OWN
) -> list[str]:
    """Settled before then, of a cluster with a time of its ``own`` before that one; and not
    resolved by a person.
    """
    return list(
        session.scalars(
            select(Incident.id)
            .join(Job, Job.id == Incident.job_fk)
            .outerjoin(Resolution, Resolution.incident_id == Incident.id)
            .where(_is_before(Incident.settled_at, before, own), Resolution.incident_id.is_(None))
            .order_by(Incident.created_at)
        )
    )


def _is_before(
    at: InstrumentedAttribute[Any], before: datetime, own: Mapping[int, datetime]
) -> ColumnElement[bool]:
    """Whether a time lies before that of its job's cluster."""
    rest = and_(at < before, Job.cluster_id.not_in(own))
    return or_(rest, *(and_(at < one, Job.cluster_id == key) for key, one in own.items()))


def list_old_uploads(
    session: Session,
    before: datetime,
    *,
    of: Sequence[str] = (),
    own: Mapping[int, datetime] = _NONE_OF_THEIR_OWN,
) -> list[OldUpload]:
    """Of settled incidents, older than that, or than their cluster's ``own`` time; and all of
    those incidents.
    """
    gone = Upload.incident_id.in_(of[:10_000]) if of else None
    aged = _is_before(Upload.created_at, before, own)
    rows = session.execute(
        select(Upload.id, Upload.blob_key, Upload.stored_bytes)
        .join(Incident, Incident.id == Upload.incident_id)
        .join(Job, Job.id == Incident.job_fk)
        .where(Upload.blob_key.is_not(None), Incident.settled_at.is_not(None))
        .where(aged if gone is None else or_(aged, gone))
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
