"""What stays of incidents that are removed for their age, so that a fleet's record is whole.

Written with their removal, read beside those that are there.

What is old enough to go.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select
from sqlalchemy.orm import Session, load_only

from models import Incident, Job, PastStop, PastSuspect, Resolution, Suspect, Upload, Work
from triage.analysis.facts.part import list_named_parts
from triage.domain.category import Role, VerdictKind
from triage.domain.states import WorkKind
from triage.store.database.upsert import lock_rows

PastStopRow = tuple[str, int, str, str, datetime, dict[str, str | None]]
PastSuspectRow = tuple[str, int, str, str, str, float, str]

# Columns of a suspect that stay as they are.
_KEPT: Final = ("incident_id", "position", "node", "category", "role", "score")


def remember(session: Session, incident_ids: Sequence[str]) -> None:
    """Keep what the record of the fleet needs of these incidents, which are about to go.

    A job that was healthy has not stopped: nothing of it stays.
    """
    columns = (Incident.id, Job.cluster_id, Job.job_id, Incident.key, Incident.created_at)
    query = select(*columns, Incident.verdict).join(Job, Incident.job_fk == Job.id)
    stops = [
        {
            "incident_id": incident_id,
            "cluster_id": cluster,
            "job_id": job_id,
            "key": key,
            "created_at": created_at,
            "kind": str((verdict or {}).get("kind") or ""),
            "category": (verdict or {}).get("category"),
        }
        for incident_id, cluster, job_id, key, created_at, verdict in session.execute(
            query.where(Incident.id.in_(incident_ids))
        )
        if (verdict or {}).get("kind") != VerdictKind.HEALTHY
    ]
    if not stops:
        return
    session.execute(insert(PastStop), stops)
    suspects = _list_suspects(session, [stop["incident_id"] for stop in stops])
    if suspects:
        session.execute(insert(PastSuspect), suspects)


def _list_suspects(session: Session, incident_ids: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of :class:`PastSuspect` for these incidents."""
    suspects = session.scalars(
        select(Suspect).where(
            Suspect.incident_id.in_(incident_ids),
            Suspect.node.is_not(None),
            Suspect.role.in_((Role.CULPRIT, Role.POSSIBLE)),
        )
    )
    return [
        {
            **{column: getattr(suspect, column) for column in _KEPT},
            "part": (list_named_parts(suspect.row).first or "")
            if suspect.part is None
            else suspect.part,
        }
        for suspect in suspects
    ]


def list_past_stops(session: Session, of: Sequence[int], since: datetime) -> list[PastStopRow]:
    """Of incidents opened since then: id, cluster, job, key, when it was opened, verdict."""
    rows = session.execute(
        select(
            PastStop.incident_id,
            PastStop.cluster_id,
            PastStop.job_id,
            PastStop.key,
            PastStop.created_at,
            PastStop.kind,
            PastStop.category,
        ).where(PastStop.cluster_id.in_(of), PastStop.created_at >= since)
    )
    return [
        (incident_id, cluster, job_id, key, created_at, {"kind": kind, "category": category})
        for incident_id, cluster, job_id, key, created_at, kind, category in rows
    ]


def list_past_suspects(
    session: Session, of: Sequence[int], since: datetime
) -> list[PastSuspectRow]:
    """Who was suspected in them: incident, position, node, category, role, score, part."""
    columns = [getattr(PastSuspect, column) for column in (*_KEPT, "part")]
    rows: Iterable[Any] = session.execute(
        select(*columns)
        .join(PastStop, PastStop.incident_id == PastSuspect.incident_id)
        .where(PastStop.cluster_id.in_(of), PastStop.created_at >= since)
    )
    return [tuple(row) for row in rows]


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


def list_old_blobs(
    session: Session, before: datetime, incidents_before: datetime
) -> list[tuple[str, int]]:
    """(key, bytes) of the blobs of settled incidents that came before then, and of all of incidents
    that are older than ``incidents_before``.
    """
    rows = session.execute(
        select(Upload.blob_key, Upload.stored_bytes)
        .join(Incident, Incident.id == Upload.incident_id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(Upload.blob_key.is_not(None), Incident.settled_at.is_not(None))
        .where(or_(Upload.created_at < before, _is_old(incidents_before)))
        .order_by(Upload.created_at)
    )
    return [(key, size) for key, size in rows if key is not None]


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
