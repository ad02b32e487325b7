"""Earlier failures of the same job, and when its runs began: what a restart is held against."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Incident, Job, Resolution, Run, Suspect
from triage.domain.answer_wire import make_reader
from triage.domain.category import Role
from triage.domain.restart import MAX_ENDS, Restart
from triage.store.incidents import revisions
from triage.store.incidents.matching import parse_failed_at

_MAX_RUNS: Final = 200
_READ: Final = make_reader(Restart)


@dataclass(frozen=True, slots=True)
class FailureOfJob:
    """One incident of a job. ``failed_at`` is by the clock of whoever reported it, None where
    nobody said it; ``opened_at`` is ours. ``announced`` is whether somebody said that it failed,
    ``nodes`` are those convicted. ``kind`` and ``category`` are None before an answer.
    """

    incident_id: str
    attempt: str
    announced: bool
    failed_at: datetime | None
    opened_at: datetime
    kind: str | None
    category: str | None
    nodes: tuple[str, ...]


def list_failures_of_job(session: Session, incident_id: str) -> list[FailureOfJob]:
    """An incident, then those of the same job of the same cluster before it, newest first.

    The category is what a person found it to be, where one has said so.
    """
    job = select(Incident.job_fk).where(Incident.id == incident_id).scalar_subquery()
    rows = session.execute(
        select(
            Incident.id, Incident.attempt, Incident.announced, Incident.key, Incident.created_at,
            Incident.verdict, Resolution.category,
        )
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(Incident.job_fk == job, Incident.id <= incident_id)  # ids sort by time
        .order_by(Incident.id.desc())
        .limit(MAX_ENDS + 1)
    ).all()  # fmt: skip
    nodes = _list_convicted(session, [row.id for row in rows])
    return [
        FailureOfJob(
            row.id, row.attempt, row.announced, parse_failed_at(row.key), row.created_at,
            _get_text(row.verdict, "kind"), row.category or _get_text(row.verdict, "category"),
            tuple(nodes.get(row.id, ())),
        )
        for row in rows
    ]  # fmt: skip


def find_restart(session: Session, incident_id: str) -> Restart | None:
    """Whether the job is worth starting again, by the newest answer; None where it does not say.

    Raises :class:`Unavailable` for an answer that cannot be read.
    """
    row = session.execute(
        select(Incident.revision, Incident.restart).where(Incident.id == incident_id)
    ).one_or_none()
    if row is None or row.revision == 0:
        return None
    kept = row.restart or {}
    if kept.get("revision") == row.revision:
        return _READ(kept["restart"]) if kept["restart"] else None
    # A process of the release before wrote the answer.
    newest = revisions.find_newest(session, incident_id)
    return None if newest is None else newest.reported().restart


def list_run_starts(session: Session, incident_id: str) -> Sequence[datetime]:
    """When the newest runs of the incident's job began, newest first."""
    return session.scalars(
        select(Run.started_at)
        .join(Job, (Job.cluster_id == Run.cluster_id) & (Job.job_id == Run.job_id))
        .join(Incident, Incident.job_fk == Job.id)
        .where(Incident.id == incident_id)
        .order_by(Run.started_at.desc())
        .limit(_MAX_RUNS)
    ).all()


def _list_convicted(session: Session, incident_ids: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for incident_id, node in session.execute(
        select(Suspect.incident_id, Suspect.node)
        .where(
            Suspect.incident_id.in_(incident_ids),
            Suspect.role == Role.CULPRIT,
        )
        .order_by(Suspect.incident_id, Suspect.position)
    ):
        if node is not None:
            found.setdefault(incident_id, []).append(node)
    return found


def _get_text(verdict: dict[str, Any] | None, key: str) -> str | None:
    value = (verdict or {}).get(key)
    return value if isinstance(value, str) else None
