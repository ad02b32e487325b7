"""A failure is reported: the incident of it is opened, found, or adopted from its uploads."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Incident
from triage.domain.facts import Statement
from triage.domain.failure_match import Failure, find_for_failure
from triage.domain.job import parse_seconds
from triage.domain.states import IncidentState
from triage.store import jobs
from triage.store.database.upsert import lock_rows
from triage.store.incidents.facts import keep_statement
from triage.store.incidents.incidents import make_incident, schedule_settling
from triage.store.incidents.matching import (
    find_only_cluster,
    is_open,
    list_candidates,
    make_key,
    name_attempt,
)


def announce(session: Session, failure: Failure, quiet_s: float, now: datetime) -> str:
    """The incident of a failure that somebody reports, opened or adopted; its id.

    The same failure is the same job (cluster, id, attempt) and about the same time; without a
    time, the job's unsettled incident. What was uploaded before anybody reported it is adopted,
    settled or not. The failure says how long files are collected; they have come when none came
    for ``quiet_s``.
    """
    # Files that name no cluster may be of this one: whoever brings them locks the job of none.
    job_fk = jobs.lock_job(session, "", failure.job_id, now)
    if failure.cluster:
        job_fk = jobs.lock_job(session, failure.cluster, failure.job_id, now)
    incident = _find_for_failure(session, failure, now)
    if incident is None:
        incident = make_incident(job_fk, make_key(failure.failed_at, failure.attempt), now)
        incident.attempt = failure.attempt
        session.add(incident)
    incident.job_fk = job_fk
    first = not incident.announced
    if first and incident.settled_at is not None:
        _collect_again(incident)
    name_attempt(incident, failure.attempt)
    if failure.failed_at is not None and is_open(incident.key):
        incident.key = make_key(failure.failed_at, incident.attempt)
    statement = Statement(failure.facts or {}, failure.source, failure.caller)
    keep_statement(session, incident, statement, now)
    incident.announced = True
    if failure.expected_artifacts is not None:
        incident.expected_artifacts = failure.expected_artifacts
    if first:
        incident.deadline_at = now + timedelta(seconds=failure.collect_within_s or 0.0)
    schedule_settling(session, incident, quiet_s, now)
    session.flush()
    return incident.id


def _find_for_failure(session: Session, failure: Failure, now: datetime) -> Incident | None:
    """The incident of this failure, if there is one already; locked.

    Of the incidents of no cluster it is one that nobody has reported, and that none but this
    cluster can be meant by.
    """
    cluster = failure.cluster or ""
    began = parse_seconds((failure.facts or {}).get("started_at"))
    started_at = None if began is None else datetime.fromtimestamp(began, UTC)
    own = list_candidates(session, failure.job_id, cluster, cluster)
    known = find_for_failure(own, failure.attempt, failure.failed_at, now, started_at)
    if known is None and failure.cluster == find_only_cluster(session, cluster):
        nameless = [
            one for one in list_candidates(session, failure.job_id, "", "") if not one.announced
        ]
        known = find_for_failure(nameless, failure.attempt, failure.failed_at, now, started_at)
    if known is None:
        return None
    # One that was deleted in between is none: the failure opens another.
    return lock_rows(session, select(Incident).where(Incident.id == known)).one_or_none()


def _collect_again(found: Incident) -> None:
    """A settled incident is open once more: who reports it is told when it is ready."""
    found.settled_at = None
    found.state = IncidentState.COLLECTING
    found.provisional = True
    found.reason = None
    found.key = make_key(None, found.attempt)
