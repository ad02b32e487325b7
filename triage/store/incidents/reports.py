"""A failure is reported: the incident of it is opened, found, or adopted from its uploads."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Cluster, Incident, Job
from triage.domain.facts import Statement
from triage.domain.failure import Failure
from triage.domain.states import IncidentState
from triage.store import jobs
from triage.store.database.row_locks import lock_rows
from triage.store.incidents.facts import keep_statement
from triage.store.incidents.incidents import OPEN, opened, rouse

__all__ = ["announce"]

# What was uploaded longer ago than this, and never reported, is of another failure.
ADOPTED_WITHIN: Final = timedelta(days=1)
# A failure is before the files of it were in, as far as two clocks agree.
CLOCKS_APART: Final = timedelta(minutes=5)


def announce(session: Session, failure: Failure, quiet_s: float, now: datetime) -> str:
    """The incident of a failure that somebody reports, opened or adopted; its id.

    The same failure is the same job and time; without a time, the job's unsettled
    incident. What was uploaded before anybody reported it is adopted, settled or not.
    The failure says how long files are collected; they have come when none came for ``quiet_s``.
    """
    # Uploads lock the job of no cluster: they do not know which one it is of.
    job_fk = jobs.lock_job(session, "", failure.job_id, now)
    if failure.cluster:
        job_fk = jobs.lock_job(session, failure.cluster, failure.job_id, now)
    key = OPEN if failure.failed_at is None else failure.failed_at.isoformat()
    incident = same_failure(session, job_fk, key) or orphan(session, failure, now)
    if incident is None:
        incident = opened(job_fk, key, now)
        session.add(incident)
    elif incident.job_fk != job_fk:
        incident.job_fk = job_fk
    first = not incident.announced
    if first and incident.settled_at is not None:
        collect_again(incident)
    if failure.failed_at is not None and incident.key == OPEN:
        incident.key = key
    statement = Statement(failure.facts or {}, failure.source, failure.caller)
    keep_statement(session, incident, statement, now)
    incident.announced = True
    if failure.expected_artifacts is not None:
        incident.expected_artifacts = failure.expected_artifacts
    if first:
        incident.deadline_at = now + timedelta(seconds=failure.collect_within_s or 0.0)
    rouse(session, incident, quiet_s, now)
    session.flush()
    return incident.id


def same_failure(session: Session, job_fk: int, key: str) -> Incident | None:
    """The incident of this failure, if there is one already."""
    of_job = select(Incident).where(Incident.job_fk == job_fk)
    if key != OPEN:
        known = lock_rows(session, of_job.where(Incident.key == key)).one_or_none()
        if known is not None:
            return known
    unsettled = of_job.where(Incident.settled_at.is_(None))
    if key != OPEN:
        unsettled = unsettled.where(Incident.key == OPEN)
    newest_first = (Incident.created_at.desc(), Incident.id.desc())
    return lock_rows(session, unsettled.order_by(*newest_first).limit(1)).one_or_none()


def orphan(session: Session, failure: Failure, now: datetime) -> Incident | None:
    """What was uploaded for this failure, if nobody has reported it yet.

    Alerts come minutes after the nodes have sent their files, when those may have settled.
    """
    since = now - ADOPTED_WITHIN
    settled_late = Incident.settled_at >= (failure.failed_at or since) - CLOCKS_APART
    query = (
        select(Incident)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(Job.job_id == failure.job_id, Cluster.name == "", Incident.announced.is_(False))
        .where(Incident.settled_at.is_(None) | (Incident.created_at >= since) & settled_late)
        .order_by(Incident.created_at.desc(), Incident.id.desc())
        .limit(1)
    )
    return lock_rows(session, query, of=Incident).one_or_none()


def collect_again(found: Incident) -> None:
    """A settled incident is open once more: who reports it is told when it is ready."""
    found.settled_at = None
    found.state = IncidentState.COLLECTING
    found.provisional = True
    found.reason = None
    found.key = OPEN
