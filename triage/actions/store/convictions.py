"""Nodes that answers convicted lately, and that nobody is known to have mended since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Cluster, Incident, Job, Node, Repair, Resolution, Suspect
from triage.domain.category import OF_THE_NODE, Role
from triage.store.incidents.matching import failed_at_of
from triage.store.incidents.repeats import accused

__all__ = ["Conviction", "convicted_since", "failure_of", "last_repairs", "time_of_failure"]

# Convictions that are looked at, the newest, and of each node.
MOST_READ: Final = 2000
MOST_OF_NODE: Final = 3


@dataclass(frozen=True, slots=True)
class Conviction:
    """A node that the newest answer to an incident convicts."""

    node: str
    incident_id: str
    job_id: str
    category: str
    at: datetime
    """When the job failed."""


def convicted_since(session: Session, cluster: str, since: datetime) -> Sequence[Conviction]:
    """The newest conviction of each node of ``cluster`` (empty: of no cluster), the newest first.

    Those alone that the verdict names to be taken out, that no person has set right, and of
    whose node no repair is recorded since. Times are those of the failures: what is told late is
    as old as it is.
    """
    cluster_id = session.scalar(select(Cluster.id).where(Cluster.name == cluster))
    if cluster_id is None:
        return []
    # Verdicts are long: they are read of those incidents alone that may count.
    candidates: dict[str, list[str]] = {}
    for node, incident_id in session.execute(
        select(Suspect.node, Suspect.incident_id)
        .join(Incident, Incident.id == Suspect.incident_id)
        .join(Job, Job.id == Incident.job_fk)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(
            Job.cluster_id == cluster_id,
            Incident.created_at >= since,
            Incident.provisional.is_(False),
            Suspect.role == Role.CULPRIT,
            Suspect.category.in_(OF_THE_NODE),
            Suspect.node.is_not(None),
            accused(),
        )
        .order_by(Incident.created_at.desc())
        .limit(MOST_READ)
    ):
        newest = candidates.setdefault(node or "", [])
        if len(newest) < MOST_OF_NODE:
            newest.append(incident_id)
    recent = [one for one in convictions(session, candidates) if one.at >= since]
    found = {one.node: one for one in sorted(recent, key=lambda one: one.at)}
    mended = last_repairs(session, cluster_id, list(found)) if found else {}
    kept = (one for one in found.values() if mended.get(one.node, one.at) <= one.at)
    return sorted(kept, key=lambda one: (one.at, one.node), reverse=True)


def convictions(session: Session, candidates: Mapping[str, Sequence[str]]) -> list[Conviction]:
    """Those of the incidents whose verdict takes the node out, the newest first."""
    ids = {one for newest in candidates.values() for one in newest}
    rows = session.execute(
        select(Incident.id, Incident.key, Incident.created_at, Incident.verdict, Job.job_id)
        .join(Job, Job.id == Incident.job_fk)
        .where(Incident.id.in_(ids))
        .order_by(Incident.created_at.desc())
    )
    return [
        Conviction(
            node, row.id, row.job_id, str(row.verdict["category"]),
            time_of_failure(row.verdict, row.key, row.created_at),
        )
        for row in rows
        if row.verdict
        for node in row.verdict["cordon"]
        if row.id in candidates.get(node, ())
    ]  # fmt: skip


def failure_of(session: Session, incident_id: str, fallback: datetime) -> datetime:
    """When the job of an incident failed; ``fallback`` where there is none of this id."""
    row = session.execute(
        select(Incident.verdict, Incident.key, Incident.created_at).where(
            Incident.id == incident_id
        )
    ).one_or_none()
    return fallback if row is None else time_of_failure(row.verdict, row.key, row.created_at)


def time_of_failure(verdict: Mapping[str, Any] | None, key: str, created_at: datetime) -> datetime:
    """When a job failed: the earlier one of what was reported and what was read."""
    said = str((verdict or {}).get("at") or "")
    read = datetime.fromisoformat(said) if said.endswith("Z") else None
    return min((at for at in (failed_at_of(key), read) if at is not None), default=created_at)


def last_repairs(session: Session, cluster_id: int, nodes: Sequence[str]) -> dict[str, datetime]:
    """When each node was last repaired."""
    rows = session.execute(
        select(Node.name, Repair.at)
        .join(Repair, Repair.node_id == Node.id)
        .where(Node.cluster_id == cluster_id, Node.name.in_(nodes))
        .order_by(Repair.at)
    )
    return {row.name: row.at for row in rows}
