"""Incidents: opened once per failure, settled once, revised by what comes late."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import (
    Select,
    Table,
    Text,
    bindparam,
    exists,
    func,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.orm import Session, undefer

from models import Artifact, Cluster, Incident, Job, Resolution, Suspect
from triage.domain.states import ArtifactState, IncidentState, WorkKind
from triage.store import jobs
from triage.store.database.ids import new_id
from triage.store.database.row_locks import lock_rows
from triage.store.views import IncidentView, ResolutionView
from triage.store.work import table as work

__all__ = [
    "OPEN", "STANDINGS", "announce", "arrived", "facts_json", "find", "for_upload", "job_id_of",
    "listing", "newest_of_job", "newest_of_node", "resolution_view",
]  # fmt: skip

OPEN: Final = "open"
# Among the facts, what our own record knew of nodes at the first answer: never what others say.
STANDINGS: Final = "triage.standings"
# What was uploaded longer ago than this, and never reported, is of another failure.
ADOPTED_WITHIN: Final = timedelta(days=1)
# A failure is before the files of it were in, as far as two clocks agree.
CLOCKS_APART: Final = timedelta(minutes=5)

# What every upload asks and says, made once, of the tables.
INCIDENTS: Final = cast("Table", Incident.__table__)
JOBS: Final = cast("Table", Job.__table__)
THIS: Final = INCIDENTS.c.id == bindparam("of_incident")
HOLD_JOB: Final = (
    select(JOBS.c.id, JOBS.c.cluster_id)
    .where(JOBS.c.id == select(INCIDENTS.c.job_fk).where(THIS).scalar_subquery())
    .with_for_update(key_share=True)
)
HOLD_INCIDENT: Final = (
    select(
        INCIDENTS.c.num_artifacts,
        INCIDENTS.c.expected_artifacts,
        INCIDENTS.c.deadline_at,
        INCIDENTS.c.settled_at,
    )
    .where(THIS)
    .with_for_update(key_share=True)
)
COUNT_FILES: Final = (
    update(INCIDENTS)
    .where(THIS)
    .values(num_artifacts=bindparam("num"), updated_at=bindparam("now"), settle_at=bindparam("at"))
)
JOB_ID: Final = select(JOBS.c.job_id).join(INCIDENTS, INCIDENTS.c.job_fk == JOBS.c.id).where(THIS)


def find(session: Session, incident_id: str) -> IncidentView | None:
    """One incident; None where there is none of this id."""
    row = session.execute(joined().where(Incident.id == incident_id)).one_or_none()
    return None if row is None else view(*row)


def job_id_of(session: Session, incident_id: str) -> str | None:
    """The scheduler's id of an incident's job; None where there is no such incident."""
    return session.scalar(JOB_ID, {"of_incident": incident_id})


def listing(
    session: Session,
    *,
    job_id: str | None = None,
    node: str | None = None,
    category: str | None = None,
    state: str | None = None,
    since: datetime | None = None,
    before: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> list[IncidentView]:
    """Newest first. ``node`` is among the suspects; ``before`` is the last row already seen."""
    query = joined()
    if job_id is not None:
        query = query.where(Job.job_id == job_id)
    if category is not None:
        query = query.where(Incident.category == category)
    if state is not None:
        query = query.where(Incident.state == state)
    if since is not None:
        query = query.where(Incident.created_at >= since)
    if node is not None:
        query = query.where(
            Incident.id.in_(select(Suspect.incident_id).where(Suspect.node == node))
        )
    if before is not None:
        query = query.where(tuple_(Incident.created_at, Incident.id) < before)
    query = query.order_by(Incident.created_at.desc(), Incident.id.desc()).limit(limit)
    return [view(*row) for row in session.execute(query)]


def newest_of_node(session: Session, node: str, since: datetime) -> IncidentView | None:
    """The newest incident since then of a job that runs on this node, as its files say."""
    query = (
        joined()
        .where(Incident.created_at >= since)
        .where(exists().where(Artifact.incident_id == Incident.id, Artifact.node == node))
        .order_by(Incident.created_at.desc())
        .limit(1)
    )
    row = session.execute(query).one_or_none()
    if row is not None:
        return view(*row)
    recent = (
        select(Incident.id, Incident.facts)
        .where(Incident.created_at >= since)
        .order_by(Incident.created_at.desc())
        .limit(50)
    )
    for incident_id, facts in session.execute(recent):
        if node in (facts.get("nodes") or ()) or node in (facts.get("rank_to_node") or {}).values():
            return find(session, incident_id)
    return None


def announce(
    session: Session,
    *,
    cluster: str,
    job_id: str,
    failed_at: datetime | None,
    facts: Mapping[str, Any],
    expected_artifacts: int | None,
    within_s: float,
    quiet_s: float,
    now: datetime,
) -> str:
    """The incident of a failure that somebody reports, opened or adopted; its id.

    The same failure is the same job and time; without a time, the job's unsettled
    incident. What was uploaded before anybody reported it is adopted, settled or not.
    """
    # Uploads hold the job of no cluster: they do not know which one it is of.
    job_fk = jobs.lock_job(session, "", job_id, now)
    if cluster:
        job_fk = jobs.lock_job(session, cluster, job_id, now)
    key = OPEN if failed_at is None else failed_at.isoformat()
    found = same_failure(session, job_fk, key) or orphan(session, job_id, failed_at, now)
    if found is None:
        found = opened(session, job_fk, key, now)
        session.add(found)
    elif found.job_fk != job_fk:
        found.job_fk = job_fk
    first = not found.announced
    if first and found.settled_at is not None:
        collect_again(found)
    if failed_at is not None and found.key == OPEN:
        found.key = key
    merged = {**found.facts, **told_by_others(facts)}
    if merged != found.facts:
        found.facts = merged
        found.inputs += 1
    found.announced = True
    if expected_artifacts is not None:
        found.expected_artifacts = expected_artifacts
    if first:
        found.deadline_at = now + timedelta(seconds=within_s)
    rouse(session, found, quiet_s, now)
    session.flush()
    return found.id


def for_upload(
    session: Session, job_id: str, *, within_s: float, quiet_s: float, now: datetime
) -> str:
    """The incident that an upload for this job belongs to: its newest, else one of its own."""
    known = newest_of_job(session, job_id)
    if known is not None:
        return known
    job_fk = jobs.lock_job(session, "", job_id, now)
    known = newest_of_job(session, job_id)
    if known is not None:
        return known
    found = opened(session, job_fk, OPEN, now)
    found.announced = False
    found.deadline_at = now + timedelta(seconds=within_s)
    found.settle_at = min(found.deadline_at, now + timedelta(seconds=quiet_s))
    session.add(found)
    session.flush()
    return found.id


def newest_of_job(session: Session, job_id: str) -> str | None:
    """The id of the job's newest incident, on whichever cluster."""
    return session.scalar(
        select(Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .where(Job.job_id == job_id)
        .order_by(Incident.created_at.desc(), Incident.id.desc())
        .limit(1)
    )


class OfJob(NamedTuple):
    """A job and its cluster, by key."""

    id: int
    cluster_id: int


def arrived(
    session: Session, incident_id: str, num_new: int, quiet_s: float, now: datetime
) -> OfJob:
    """New files came in: the settling moves, a settled incident is looked at again; its job."""
    # A report of the failure holds the job before the incident, so this does too.
    session.flush()
    job = OfJob(*session.execute(HOLD_JOB, {"of_incident": incident_id}).one())
    found = session.execute(HOLD_INCIDENT, {"of_incident": incident_id}).one()
    num_artifacts = found.num_artifacts + num_new
    if found.settled_at is not None:
        row = lock_rows(session, select(Incident).where(Incident.id == incident_id)).one()
        row.num_artifacts = num_artifacts
        rouse(session, row, quiet_s, now)
        session.flush()
        return job
    at = settles(found.expected_artifacts, num_artifacts, found.deadline_at, quiet_s, now)
    counted = {"of_incident": incident_id, "num": num_artifacts, "now": now, "at": at}
    session.execute(COUNT_FILES, counted)
    work.enqueue(session, WorkKind.ANALYSE, incident_id, now, not_before=max(now, at))
    return job


def settles(
    expected: int | None, num_artifacts: int, deadline_at: datetime, quiet_s: float, now: datetime
) -> datetime:
    """When an incident settles if nothing more comes."""
    if expected is None:
        return min(deadline_at, now + timedelta(seconds=quiet_s))
    return now if num_artifacts >= expected else deadline_at


def facts_json(session: Session, incident_id: str) -> bytes:
    """The job.json object of an incident, as far as hooks and bundles have told it, as JSON."""
    stored = type_coerce(Incident.facts, Text)
    return (session.scalar(select(stored).where(Incident.id == incident_id)) or "{}").encode()


def told_by_others(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts without what only our own record may say."""
    return {key: value for key, value in facts.items() if key != STANDINGS}


def add_facts(session: Session, incident_id: str, facts: Mapping[str, Any]) -> None:
    """What a ``job.json`` of a bundle adds; what a hook has said stands."""
    found = lock_rows(session, select(Incident).where(Incident.id == incident_id)).one()
    merged = {**told_by_others(facts), **found.facts}
    if merged != found.facts:
        found.facts = merged
        found.inputs += 1


def rouse(session: Session, found: Incident, quiet_s: float, now: datetime) -> None:
    """Reckon when the incident settles, and see that somebody looks at it then."""
    found.updated_at = now
    if found.settled_at is not None:
        if found.inputs > found.answered_inputs or stored(session, found.id):
            found.state = IncidentState.ANALYSING
            found.reason = None
            work.enqueue(session, WorkKind.ANALYSE, found.id, now)
        return
    found.settle_at = settles(
        found.expected_artifacts, found.num_artifacts, found.deadline_at, quiet_s, now
    )
    session.flush()
    work.enqueue(session, WorkKind.ANALYSE, found.id, now, not_before=max(now, found.settle_at))


def stored(session: Session, incident_id: str) -> int:
    """How many files are in and not read yet."""
    return (
        session.scalar(
            select(func.count())
            .select_from(Artifact)
            .where(Artifact.incident_id == incident_id, Artifact.state == ArtifactState.STORED)
        )
        or 0
    )


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


def orphan(
    session: Session, job_id: str, failed_at: datetime | None, now: datetime
) -> Incident | None:
    """What was uploaded for this failure, if nobody has reported it yet.

    Alerts come minutes after the nodes have sent their files, when those may have settled.
    """
    since = now - ADOPTED_WITHIN
    settled_late = Incident.settled_at >= (failed_at or since) - CLOCKS_APART
    query = (
        select(Incident)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(Job.job_id == job_id, Cluster.name == "", Incident.announced.is_(False))
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


def opened(session: Session, job_fk: int, key: str, now: datetime) -> Incident:  # noqa: ARG001
    return Incident(
        id=new_id("inc", now),
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


def joined() -> Select[Incident, str, str, Resolution]:
    return (
        select(Incident, Job.job_id, Cluster.name, Resolution)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .options(undefer(Incident.coverage))
    )


def view(row: Incident, job_id: str, cluster: str, resolution: Resolution | None) -> IncidentView:
    return IncidentView(
        id=row.id,
        job_id=job_id,
        cluster=cluster or None,
        state=IncidentState(row.state),
        revision=row.revision,
        provisional=row.provisional,
        verdict=row.verdict,
        coverage=row.coverage,
        resolution=None if resolution is None else resolution_view(resolution),
        created_at=row.created_at,
        settled_at=row.settled_at,
        updated_at=row.updated_at,
        reason=row.reason,
        num_artifacts=row.num_artifacts,
        expected_artifacts=row.expected_artifacts,
    )


def resolution_view(row: Resolution) -> ResolutionView:
    """A row as a value that outlives its session."""
    return ResolutionView(row.category, row.node, row.note, row.said_by, row.resolved_at)
