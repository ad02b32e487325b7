"""What stays of incidents that are removed for their age, so that a fleet's record is whole.

Written with their removal, read beside those that are there.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from models import Incident, Job, PastStop, PastSuspect, Suspect
from triage.analysis.facts.part import named_by
from triage.domain.category import Role, VerdictKind

__all__ = ["PastStopRow", "PastSuspectRow", "past_stops", "past_suspects", "remember"]

PastStopRow = tuple[str, int, str, str, datetime, dict[str, str | None]]
PastSuspectRow = tuple[str, int, str, str, str, float, str]


def remember(session: Session, incident_ids: Sequence[str]) -> None:
    """Keep what the record of the fleet needs of these incidents, which are about to go.

    A job that was healthy has not stopped: nothing of it stays.
    """
    rows = session.execute(
        select(
            Incident.id, Job.cluster_id, Job.job_id, Incident.key, Incident.created_at,
            Incident.verdict,
        )
        .join(Job, Incident.job_fk == Job.id)
        .where(Incident.id.in_(incident_ids))
    ).all()  # fmt: skip
    stops = [
        {
            "incident_id": incident_id, "cluster_id": cluster, "job_id": job_id, "key": key,
            "created_at": created_at, "kind": str((verdict or {}).get("kind") or ""),
            "category": (verdict or {}).get("category"),
        }
        for incident_id, cluster, job_id, key, created_at, verdict in rows
        if (verdict or {}).get("kind") != VerdictKind.HEALTHY
    ]  # fmt: skip
    if not stops:
        return
    session.execute(insert(PastStop), stops)
    found = session.scalars(
        select(Suspect).where(
            Suspect.incident_id.in_([one["incident_id"] for one in stops]),
            Suspect.node.is_not(None),
            Suspect.role.in_((Role.CULPRIT, Role.POSSIBLE)),
        )
    )
    suspects = [
        {
            "incident_id": one.incident_id, "position": one.position, "node": one.node,
            "category": one.category, "role": one.role, "score": one.score,
            "part": (named_by(one.row).first or "") if one.part is None else one.part,
        }
        for one in found
    ]  # fmt: skip
    if suspects:
        session.execute(insert(PastSuspect), suspects)


def past_stops(session: Session, of: Sequence[int], since: datetime) -> list[PastStopRow]:
    """Of incidents opened since then: id, cluster, job, key, when it was opened, verdict."""
    rows = session.execute(
        select(
            PastStop.incident_id, PastStop.cluster_id, PastStop.job_id, PastStop.key,
            PastStop.created_at, PastStop.kind, PastStop.category,
        ).where(PastStop.cluster_id.in_(of), PastStop.created_at >= since)
    )  # fmt: skip
    return [
        (incident_id, cluster, job_id, key, created_at, {"kind": kind, "category": category})
        for incident_id, cluster, job_id, key, created_at, kind, category in rows
    ]


def past_suspects(session: Session, of: Sequence[int], since: datetime) -> list[PastSuspectRow]:
    """Who was suspected in them: incident, position, node, category, role, score, part."""
    rows = session.execute(
        select(
            PastSuspect.incident_id, PastSuspect.position, PastSuspect.node,
            PastSuspect.category, PastSuspect.role, PastSuspect.score, PastSuspect.part,
        )
        .join(PastStop, PastStop.incident_id == PastSuspect.incident_id)
        .where(PastStop.cluster_id.in_(of), PastStop.created_at >= since)
    )  # fmt: skip
    return [
        (incident_id, position, node, category, role, score, part)
        for incident_id, position, node, category, role, score, part in rows
    ]
