"""Incidents of a job: which one a report or an upload belongs to, and what keeps them unique.

A job is its cluster, its id and its attempt. Where nobody names a cluster, the job is of none,
and none is not any. The one exception keeps an installation with a single cluster simple: while
no second one was ever named, files that name no cluster may be of the one that others named.

A failure is reported: the incident of it is opened, found, or adopted from its uploads.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, cast

from sqlalchemy import Table, bindparam, or_, select
from sqlalchemy.orm import Session

from models import Artifact, Cluster, Incident, Job
from triage.domain.facts import Statement
from triage.domain.failure_match import (
    Candidate,
    Failure,
    JobAttempt,
    find_for_failure,
    find_for_files,
)
from triage.domain.job import parse_seconds
from triage.domain.states import IncidentState
from triage.store import jobs
from triage.store.database.upsert import lock_rows
from triage.store.incidents.facts import keep_statement
from triage.store.incidents.incidents import keep, make_incident, schedule_settling

_OPEN: Final = "open"
# Between the two halves of a key: what it was when, and which attempt.
_OF_ATTEMPT: Final = "#"
# A job that is requeued more often shows its newest failures alone.
_MOST: Final = 200
_MOST_LOOKED_INTO: Final = 20

# What every upload asks, made once, of the tables.
_INCIDENTS: Final = cast("Table", Incident.__table__)
_JOBS: Final = cast("Table", Job.__table__)
_CLUSTERS: Final = cast("Table", Cluster.__table__)
_FILES: Final = cast("Table", Artifact.__table__)
_OTHER_CLUSTERS: Final = (
    select(_CLUSTERS.c.name)
    .where(_CLUSTERS.c.name != "", _CLUSTERS.c.name != bindparam("also"))
    .limit(2)
)
_OF_JOB: Final = (
    select(
        _INCIDENTS.c.id, _INCIDENTS.c.key, _INCIDENTS.c.attempt, _INCIDENTS.c.announced,
        _INCIDENTS.c.num_artifacts, _INCIDENTS.c.created_at, _INCIDENTS.c.settled_at,
    )
    .join(_JOBS, _INCIDENTS.c.job_fk == _JOBS.c.id)
    .join(_CLUSTERS, _JOBS.c.cluster_id == _CLUSTERS.c.id)
    .where(
        _JOBS.c.job_id == bindparam("of_job"),
        or_(
            _CLUSTERS.c.name == bindparam("of_cluster"), _CLUSTERS.c.name == bindparam("or_cluster")
        ),
    )
    .order_by(_INCIDENTS.c.created_at.desc(), _INCIDENTS.c.id.desc())
    .limit(_MOST)
)  # fmt: skip
_FILE_OF_JOB: Final = (
    select(_FILES.c.id)
    .join(_INCIDENTS, _FILES.c.incident_id == _INCIDENTS.c.id)
    .join(_JOBS, _INCIDENTS.c.job_fk == _JOBS.c.id)
    .where(_JOBS.c.job_id == bindparam("of_job"), _FILES.c.identity == bindparam("of_identity"))
    .limit(1)
)


def make_key(failed_at: datetime | None, attempt: str) -> str:
    """The key of an incident in its job: when it failed, else that it is open; the attempt."""
    when = _OPEN if failed_at is None else failed_at.isoformat()
    return f"{when}{_OF_ATTEMPT}{attempt}" if attempt else when


def is_open(key: str) -> bool:
    """Whether the key is of an unsettled incident of which nobody said a time."""
    return key.partition(_OF_ATTEMPT)[0] == _OPEN


def parse_failed_at(key: str) -> datetime | None:
    """The time in a key; None for one that holds none."""
    when = key.partition(_OF_ATTEMPT)[0]
    return datetime.fromisoformat(when) if when[:1].isdigit() else None


def name_attempt(found: Incident, attempt: str) -> None:
    """Note which attempt of its job an incident is of, where nobody has named one."""
    if attempt and not found.attempt:
        found.attempt = attempt
        if is_open(found.key) or parse_failed_at(found.key) is not None:
            found.key = make_key(parse_failed_at(found.key), attempt)


def find_only_cluster(session: Session, also: str) -> str | None:
    """The one cluster that was ever named, counting ``also``; None where there are several."""
    names = {*session.scalars(_OTHER_CLUSTERS, {"also": also}), *([also] if also else [])}
    return names.pop() if len(names) == 1 else None


def list_candidates(
    session: Session, job_id: str, cluster: str, or_cluster: str
) -> list[Candidate]:
    """The newest incidents of the job on these two clusters; an empty name is none."""
    asked = {"of_job": job_id, "of_cluster": cluster, "or_cluster": or_cluster}
    return [
        Candidate(
            row.id, row.attempt, parse_failed_at(row.key), row.announced,
            row.num_artifacts, row.created_at, row.settled_at,
        )
        for row in session.execute(_OF_JOB, asked)
    ]  # fmt: skip


def _list_reachable(session: Session, job: JobAttempt) -> list[Candidate]:
    """The incidents that files of the job may be of."""
    only = None if job.bound else find_only_cluster(session, job.cluster)
    if only is None:
        return list_candidates(session, job.job_id, job.cluster, job.cluster)
    return list_candidates(session, job.job_id, "", only)


def has_file(session: Session, job_id: str, identity: str) -> bool:
    """Whether any incident of a job of this id has the file."""
    asked = {"of_job": job_id, "of_identity": identity}
    return session.execute(_FILE_OF_JOB, asked).first() is not None


def list_fitting_attempt(session: Session, job: JobAttempt) -> list[str]:
    """The newest incidents that may hold the same files already, in that order."""
    found = _list_reachable(session, job)
    fitting = [one.id for one in found if not job.attempt or one.attempt in ("", job.attempt)]
    return fitting[:_MOST_LOOKED_INTO]


def find_for_upload(
    session: Session,
    job: JobAttempt,
    written_at: datetime | None,
    *,
    within_s: float,
    quiet_s: float,
    now: datetime,
) -> str:
    """The incident that files of this job belong to, else one of their own.

    ``written_at`` is when the job last wrote one of them, None where nothing says it.
    """

    def known() -> Candidate | None:
        found = _list_reachable(session, job)
        chosen = find_for_files(found, job.attempt, written_at, timedelta(seconds=quiet_s), now)
        return next((one for one in found if one.id == chosen), None)

    there = known()
    if there is not None and there.attempt == job.attempt and keep(session, there.id):
        return there.id
    job_fk = jobs.lock_job(session, job.cluster, job.job_id, now)
    there = known()
    query = select(Incident).where(Incident.id == (there and there.id))
    row = lock_rows(session, query).one_or_none()  # it may have been deleted in between
    if row is not None:
        name_attempt(row, job.attempt)
        session.flush()
        return row.id
    found = make_incident(job_fk, make_key(None, job.attempt), now)
    found.attempt = job.attempt
    found.deadline_at = now + timedelta(seconds=within_s)
    found.settle_at = min(found.deadline_at, now + timedelta(seconds=quiet_s))
    session.add(found)
    session.flush()
    return found.id


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
