"""What the record of a fleet is made of, each kind of row in one query.

All take the clusters they are about as keys; a year of 2,048 nodes is some thousand rows each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple, TypeVarTuple

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    and_,
    case,
    exists,
    func,
    not_,
    or_,
    select,
    tuple_,
    type_coerce,
    union,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import (
    ApiKey,
    Artifact,
    Cluster,
    Evidence,
    Incident,
    IncidentFacts,
    Job,
    Node,
    NodeSet,
    Outage,
    Repair,
    Resolution,
    Run,
    Suspect,
    Upload,
)
from models.base import Json
from triage.domain.category import Category, Role
from triage.domain.evidence import EvidenceRole, Kind
from triage.domain.facts import FactsState
from triage.domain.states import ArtifactState, IncidentState
from triage.domain.wire import UNSENT, Count, SentAs, WireForm
from triage.fleet.domain.exposure import Ending
from triage.store.incidents.past import list_past_stops, list_past_suspects
from triage.store.incidents.settling import build_accused_condition

# Runs: listed for people, and ended by a job's last word.

REPORTED: Final = (
    *(Run.started_at, Run.ended_at, Run.seen_at, Run.ending, Run.cause),
    *(Run.num_nodes, Run.num_gpus),
)
"""What sources report of a run, in the order of its rows everywhere."""


def end_open_run(
    session: Session,
    cluster_id: int,
    job_id: str,
    ended_at: datetime,
    ending: Ending,
    key_id: str | None = None,
) -> bool:
    """End the run of this job that was going on then; whether there was one without an end."""
    run = session.execute(
        select(Run.id, Run.seen_at)
        .where(
            Run.cluster_id == cluster_id,
            Run.job_id == job_id,
            Run.started_at <= ended_at,
            Run.ended_at.is_(None),
        )
        .order_by(Run.started_at.desc())
        .limit(1)
        .with_for_update()
    ).one_or_none()
    if run is None:
        return False
    seen_at = max(run.seen_at, ended_at)
    end = {"ended_at": ended_at, "ending": ending, "seen_at": seen_at, "key_id": key_id}
    session.execute(update(Run).where(Run.id == run.id).values(end))
    return True


@dataclass(frozen=True, slots=True)
class RunView(WireForm):
    """One run; ``ended_at`` is None while no source has reported its end."""

    id: Annotated[int, UNSENT]
    job_id: str
    cluster: Annotated[str, "Empty where nobody named one."]
    started_at: datetime
    ended_at: datetime | None
    seen_at: datetime
    ending: Annotated[str, SentAs(Ending)]
    cause: Annotated[
        str | None,
        SentAs(Category | None),
        "What the scheduler said, before any triage.",
    ]
    num_nodes: Count
    num_gpus: Count
    source: str


def list_runs(
    session: Session,
    *,
    job_id: str | None = None,
    cluster: str | None = None,
    ending: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int = 50,
) -> list[RunView]:
    """Newest start first. Those that lie within the time at least in part.

    ``before`` is the start and the number of the last row already seen.
    """
    query = select(Run.id, Run.job_id, Cluster.name, *REPORTED, Run.source)
    query = query.join(Cluster, Run.cluster_id == Cluster.id)
    if job_id is not None:
        query = query.where(Run.job_id == job_id)
    if cluster is not None:
        query = query.where(Cluster.name == cluster)
    if ending is not None:
        query = query.where(Run.ending == ending)
    if since is not None:
        query = query.where(func.coalesce(Run.ended_at, Run.seen_at) >= since)
    if until is not None:
        query = query.where(Run.started_at < until)
    if before is not None:
        query = query.where(tuple_(Run.started_at, Run.id) < before)
    query = query.order_by(Run.started_at.desc(), Run.id.desc()).limit(limit)
    return [RunView(*row) for row in session.execute(query)]


_Ts = TypeVarTuple("_Ts")


class StopRow(NamedTuple):
    """A settled incident: ``key`` is the time of its failure where somebody said it."""

    incident_id: str
    cluster: int
    job_id: str
    key: str
    created_at: datetime
    verdict: dict[str, Any] | None
    resolved_as: str | None
    resolved_node: str | None


class SuspectRow(NamedTuple):
    """A suspect whom nobody has cleared.

    ``part`` is empty where none is named; where it is None, ``row`` is the suspect as the report
    prints it, to be looked at.
    """

    incident_id: str
    position: int
    node: str
    category: str
    role: str
    score: float
    part: str | None
    row: dict[str, Any] | None


def filter_by_cluster(
    query: Select[*_Ts], cluster_id: InstrumentedAttribute[int], cluster: str | None
) -> Select[*_Ts]:
    """The rows whose ``cluster_id`` is that of the named cluster; all rows where it is None."""
    if cluster is None:
        return query
    return query.join(Cluster, cluster_id == Cluster.id).where(Cluster.name == cluster)


def map_cluster_keys(session: Session) -> dict[str, int]:
    """Name to key; the name of the one that nobody named is empty."""
    return {row.name: row.id for row in session.execute(select(Cluster.name, Cluster.id))}


def list_node_rows(session: Session, of: Sequence[int]) -> Sequence[Row[Any]]:
    """The columns of all nodes of these clusters."""
    nodes = select(*Node.__table__.c).where(Node.cluster_id.in_(of))
    return session.execute(nodes.order_by(Node.name, Node.id)).all()


def list_run_rows(
    session: Session, of: Sequence[int], since: datetime, until: datetime
) -> Sequence[Row[Any]]:
    """Runs that lie within the time at least in part, by job and start; ``spans`` are the packed
    nodes of each, None where nobody named them.
    """
    columns: Sequence[Any] = (Run.cluster_id, Run.job_id, *REPORTED, NodeSet.spans)
    return session.execute(
        select(*columns)
        .outerjoin(NodeSet, Run.node_set_id == NodeSet.id)
        .where(
            Run.cluster_id.in_(of),
            Run.started_at < until,
            func.coalesce(Run.ended_at, Run.seen_at) >= since,
        )
        .order_by(Run.cluster_id, Run.job_id, Run.started_at)
    ).all()


def list_stop_rows(session: Session, of: Sequence[int], since: datetime) -> list[StopRow]:
    """Incidents that were opened since then and are settled, by when they were opened.

    With them those that were removed for their age, as far as they are remembered. A failure
    is before its incident, so those of a time are among those opened since then.
    """
    incident = (Incident.key, Incident.created_at, Incident.verdict)
    resolved = (Resolution.category, Resolution.node)
    rows = session.execute(
        select(Incident.id, Job.cluster_id, Job.job_id, *incident, *resolved)
        .join(Job, Incident.job_fk == Job.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(Job.cluster_id.in_(of), _build_settled_condition(), Incident.created_at >= since)
    )
    found = [StopRow(*row) for row in rows]
    found += [StopRow(*row, None, None) for row in list_past_stops(session, of, since)]
    return sorted(found, key=lambda stop: (stop.created_at, stop.incident_id))


def list_suspect_rows(session: Session, of: Sequence[int], since: datetime) -> list[SuspectRow]:
    """Who is suspected in the incidents that :func:`list_stop_rows` gives, best first.

    Not those whom the cause only affects, and not those whom a person has cleared.
    """
    printed = type_coerce(case((Suspect.part.is_(None), Suspect.row)), Json)
    columns = (Suspect.position, Suspect.node, Suspect.category, Suspect.role, Suspect.score)
    rows = session.execute(
        select(Suspect.incident_id, *columns, Suspect.part, printed)
        .join(Incident, Suspect.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(
            Job.cluster_id.in_(of),
            _build_settled_condition(),
            Incident.created_at >= since,
            Suspect.node.is_not(None),
            Suspect.role.in_((Role.CULPRIT, Role.POSSIBLE)),
            or_(Resolution.incident_id.is_(None), build_accused_condition()),
        )
    )
    found = [SuspectRow(*row) for row in rows]
    found += [SuspectRow(*row, None) for row in list_past_suspects(session, of, since)]
    return sorted(found, key=lambda suspect: (suspect.incident_id, suspect.position))


def list_outage_rows(
    session: Session, of: Sequence[int], since: datetime, until: datetime
) -> Sequence[Row[Any]]:
    """The columns of outages that lie within the time at least in part."""
    return session.execute(
        select(*Outage.__table__.c)
        .join(Node, Outage.node_id == Node.id)
        .where(
            Node.cluster_id.in_(of),
            Outage.from_at < until,
            or_(Outage.to_at.is_(None), Outage.to_at > since),
        )
        .order_by(Outage.node_id, Outage.from_at)
    ).all()


def list_repair_rows(
    session: Session, of: Sequence[int], since: datetime, until: datetime
) -> Sequence[Row[Any]]:
    """The columns of repairs within the time, by time."""
    return session.execute(
        select(*Repair.__table__.c)
        .join(Node, Repair.node_id == Node.id)
        .where(Node.cluster_id.in_(of), Repair.at >= since, Repair.at < until)
        .order_by(Repair.at, Repair.id)
    ).all()


def list_node_xids(session: Session, since: datetime, until: datetime) -> list[tuple[str, int]]:
    """(node, code) of each Xid that a node said on its own account, once each."""
    rows = session.execute(
        select(Evidence.node, Evidence.code)
        .where(
            Evidence.kind == Kind.XID,
            Evidence.role == EvidenceRole.ROOT,
            Evidence.at >= since,
            Evidence.at < until,
            Evidence.node.is_not(None),
            Evidence.code.is_not(None),
        )
        .distinct()
    )
    return sorted((str(node), int(code or 0)) for node, code in rows)


def _build_settled_condition() -> Any:  # noqa: ANN401 - a condition of SQL
    """Incidents with an answer, and those that could not be answered: the job failed in both.

    Not those of which only tokens have spoken that are no longer believed.
    """
    over = or_(Incident.settled_at.is_not(None), Incident.state == IncidentState.FAILED)
    return and_(over, not_(_build_withdrawn_condition()))


def _build_withdrawn_condition() -> ColumnElement[bool]:
    # By the tainted tokens, of which there are few or none: other incidents are not looked at.
    tainted = select(ApiKey.id).where(ApiKey.tainted_at.is_not(None))
    named = select(IncidentFacts.incident_id).where(IncidentFacts.key_id.in_(tainted))
    sent = select(Upload.incident_id).where(Upload.key_id.in_(tainted))
    facts = exists().where(
        IncidentFacts.incident_id == Incident.id, IncidentFacts.state != FactsState.TAINTED
    )
    files = exists().where(
        Artifact.incident_id == Incident.id,
        Artifact.state != ArtifactState.QUARANTINED,
        Artifact.stored_bytes > 0,
    )
    return and_(Incident.id.in_(union(named, sent)), not_(facts), not_(files))
