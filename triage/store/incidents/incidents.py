"""Incidents: opened once per failure, settled once, revised by what comes late."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypedDict, Unpack, cast

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    bindparam,
    exists,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Session, undefer

from models import Artifact, Cluster, Incident, Job, Occurrence, Resolution, Suspect, Work
from triage.domain.states import ArtifactState, IncidentState, WorkKind, WorkState
from triage.store.database.ids import make_id
from triage.store.database.upsert import lock_rows
from triage.store.incidents.problems import map_problems
from triage.store.views import IncidentView, ResolutionView, make_view
from triage.store.work import table as work

# What every upload asks and says, made once, of the tables.
_INCIDENTS: Final = cast("Table", Incident.__table__)
_JOBS: Final = cast("Table", Job.__table__)
_THIS: Final = _INCIDENTS.c.id == bindparam("of_incident")
_HOLD_JOB: Final = (
    select(_JOBS.c.id, _JOBS.c.cluster_id)
    .where(_JOBS.c.id == select(_INCIDENTS.c.job_fk).where(_THIS).scalar_subquery())
    .with_for_update(key_share=True)
)
_HOLD_INCIDENT: Final = (
    select(
        _INCIDENTS.c.num_artifacts,
        _INCIDENTS.c.expected_artifacts,
        _INCIDENTS.c.deadline_at,
        _INCIDENTS.c.settled_at,
    )
    .where(_THIS)
    .with_for_update(key_share=True)
)
_COUNT_FILES: Final = (
    update(_INCIDENTS)
    .where(_THIS)
    .values(num_artifacts=bindparam("num"), updated_at=bindparam("now"), settle_at=bindparam("at"))
)
_CLUSTERS: Final = cast("Table", Cluster.__table__)
_JOB_OF: Final = (
    select(_JOBS.c.job_id, _CLUSTERS.c.name)
    .join(_INCIDENTS, _INCIDENTS.c.job_fk == _JOBS.c.id)
    .join(_CLUSTERS, _JOBS.c.cluster_id == _CLUSTERS.c.id)
    .where(_THIS)
)
_KEPT: Final = select(_INCIDENTS.c.id).where(_THIS).with_for_update(read=True, key_share=True)


def find(session: Session, incident_id: str) -> IncidentView | None:
    """One incident; None where there is none of this id."""
    found = _list_views(session, _select_joined().where(Incident.id == incident_id))
    return found[0] if found else None


class JobOfIncident(NamedTuple):
    """The scheduler's id of an incident's job, and its cluster; None where nobody said one."""

    job_id: str
    cluster: str | None


def find_job(session: Session, incident_id: str) -> JobOfIncident | None:
    """The job of an incident; None where there is no such incident."""
    row = session.execute(_JOB_OF, {"of_incident": incident_id}).one_or_none()
    return None if row is None else JobOfIncident(row.job_id, row.name or None)


def keep(session: Session, incident_id: str) -> bool:
    """Whether the incident is there; if so, nobody deletes it before the session ends.

    Else a row that refers to it would be refused as a mistake. Others may change it.
    """
    return session.execute(_KEPT, {"of_incident": incident_id}).one_or_none() is not None


class _IncidentFilter(TypedDict, total=False):
    """What incidents are asked for; None is any. ``node`` is among the suspects."""

    job_id: str | None
    cluster: str | None
    node: str | None
    category: str | None
    state: str | None
    problem: str | None
    since: datetime | None


def list_incidents(
    session: Session,
    *,
    before: tuple[datetime, str] | None = None,
    limit: int = 50,
    **wanted: Unpack[_IncidentFilter],
) -> list[IncidentView]:
    """Newest first; ``before`` is the last row already seen."""
    query = _select_joined().where(*_list_conditions(wanted))
    if before is not None:
        query = query.where(tuple_(Incident.created_at, Incident.id) < before)
    query = query.order_by(Incident.created_at.desc(), Incident.id.desc()).limit(limit)
    return _list_views(session, query)


def _list_conditions(wanted: _IncidentFilter) -> Iterator[ColumnElement[bool]]:
    if (job_id := wanted.get("job_id")) is not None:
        yield Job.job_id == job_id
    if (cluster := wanted.get("cluster")) is not None:
        yield Cluster.name == cluster
    if (category := wanted.get("category")) is not None:
        yield Incident.category == category
    if (state := wanted.get("state")) is not None:
        yield Incident.state == state
    if (problem := wanted.get("problem")) is not None:
        yield Incident.id.in_(
            select(Occurrence.incident_id).where(Occurrence.problem_id == problem)
        )
    if (since := wanted.get("since")) is not None:
        yield Incident.created_at >= since
    if (node := wanted.get("node")) is not None:
        yield Incident.id.in_(select(Suspect.incident_id).where(Suspect.node == node))


class OfJob(NamedTuple):
    """A job and its cluster, by key."""

    id: int
    cluster_id: int


def note_arrival(
    session: Session, incident_id: str, num_new: int, quiet_s: float, now: datetime
) -> OfJob:
    """New files came in: the settling moves, a settled incident is looked at again; its job."""
    # A report of the failure holds the job before the incident, so this does too.
    session.flush()
    job = OfJob(*session.execute(_HOLD_JOB, {"of_incident": incident_id}).one())
    found = session.execute(_HOLD_INCIDENT, {"of_incident": incident_id}).one()
    num_artifacts = found.num_artifacts + num_new
    if found.settled_at is not None:
        row = lock_rows(session, select(Incident).where(Incident.id == incident_id)).one()
        row.num_artifacts = num_artifacts
        schedule_settling(session, row, quiet_s, now)
        session.flush()
        return job
    at = _compute_settling_time(
        found.expected_artifacts, num_artifacts, found.deadline_at, quiet_s, now
    )
    counted = {"of_incident": incident_id, "num": num_artifacts, "now": now, "at": at}
    session.execute(_COUNT_FILES, counted)
    work.enqueue(session, WorkKind.ANALYSE, incident_id, now, not_before=max(now, at))
    return job


def _compute_settling_time(
    expected: int | None, num_artifacts: int, deadline_at: datetime, quiet_s: float, now: datetime
) -> datetime:
    """When an incident settles if nothing more comes."""
    if expected is None:
        return min(deadline_at, now + timedelta(seconds=quiet_s))
    return now if num_artifacts >= expected else deadline_at


def schedule_settling(session: Session, found: Incident, quiet_s: float, now: datetime) -> None:
    """Reckon when the incident settles, and see that somebody looks at it then."""
    found.updated_at = now
    if found.settled_at is not None:
        if found.inputs > found.answered_inputs or count_unread(session, found.id):
            found.state = IncidentState.ANALYSING
            found.reason = None
            work.enqueue(session, WorkKind.ANALYSE, found.id, now)
        return
    found.settle_at = _compute_settling_time(
        found.expected_artifacts, found.num_artifacts, found.deadline_at, quiet_s, now
    )
    session.flush()
    work.enqueue(session, WorkKind.ANALYSE, found.id, now, not_before=max(now, found.settle_at))


def count_unread(session: Session, incident_id: str) -> int:
    """How many files are in and not read yet; those that we gave up do not count."""
    query = (
        select(func.count())
        .select_from(Artifact)
        .where(Artifact.incident_id == incident_id, Artifact.state == ArtifactState.STORED)
    )
    number = session.scalar(query) or 0
    if not number:
        return 0
    given_up = select(Work.key).where(
        Work.kind == WorkKind.PARSE, Work.state == WorkState.QUARANTINED
    )
    return number - (session.scalar(query.where(Artifact.upload_id.in_(given_up))) or 0)


def has_files(session: Session, incident_id: str) -> bool:
    """Whether any file is in."""
    query = select(exists().where(Artifact.incident_id == incident_id))
    return bool(session.scalar(query))


def make_incident(job_fk: int, key: str, now: datetime) -> Incident:
    """A new incident that collects files; it is not in the session yet."""
    return Incident(
        id=make_id("inc", now),
        job_fk=job_fk,
        key=key,
        announced=False,
        facts={},
        state=IncidentState.COLLECTING,
        revision=0,
        provisional=True,
        num_artifacts=0,
        inputs=0,
        answered_inputs=-1,
        analyse_s=0.0,
        created_at=now,
        updated_at=now,
        deadline_at=now,
        settle_at=now,
    )


def _select_joined() -> Select[Incident, str, str, Resolution]:
    return (
        select(Incident, Job.job_id, Cluster.name, Resolution)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .options(undefer(Incident.coverage))
    )


def _list_views(
    session: Session, query: Select[Incident, str, str, Resolution]
) -> list[IncidentView]:
    rows: Sequence[Any] = session.execute(query).all()
    problems = map_problems(session, [row.id for row, *_ in rows])
    return [
        make_view(
            IncidentView,
            row,
            job_id=job_id,
            cluster=cluster or None,
            state=IncidentState(row.state),
            resolution=None if resolution is None else make_view(ResolutionView, resolution),
            problem=problems.get(row.id),
        )
        for row, job_id, cluster, resolution in rows
    ]
