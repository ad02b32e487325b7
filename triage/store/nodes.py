"""A node's history over all incidents, beside what is usual in the fleet."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypedDict, cast

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Cluster, Evidence, Incident, Job, Node, Resolution, Suspect
from triage.analysis.facts.part import list_named_parts
from triage.domain.category import Role
from triage.domain.evidence import EvidenceRole
from triage.domain.wire import SentAs, Time, format_iso_utc
from triage.store import node_notices
from triage.store.jobs import in_cluster
from triage.store.node_notices import NoticeReport
from triage.store.part_history import NodePart, list_parts_of_node

_WINDOW: Final = timedelta(days=30)
_MAX_INCIDENTS: Final = 200
_MAX_ERRORS: Final = 200
# Root rows that the errors are counted from: the newest.
MAX_ROWS: Final = 5_000
# What makes two rows the same error.
_ERROR: Final = (Evidence.kind, Evidence.code, Evidence.gpu, Evidence.category, Evidence.signature)


class NodeIncident(TypedDict):
    """One incident that named the node among its suspects."""

    incident_id: str
    job_id: str
    created_at: Time | None
    position: int
    role: str
    category: str
    score: float
    gpus: list[str]
    part: str | None
    resolved_as: str | None
    resolved_node: str | None


class NodeError(TypedDict):
    """One error of the node, over all incidents."""

    kind: str
    code: int | None
    gpu: str | None
    category: str | None
    signature: str
    count: int
    incidents: int
    first_at: Time | None
    last_at: Time | None


class NodeRate(TypedDict):
    """How often the node was the culprit within the window, beside a node of the fleet."""

    window_days: int
    incidents: int
    fleet_nodes: int
    fleet_mean: float
    ratio: float | None


class NodeReport(TypedDict):
    """A node's history."""

    node: str
    clusters: list[str]
    first_seen_at: Annotated[str | None, SentAs(Time)]
    last_seen_at: Annotated[str | None, SentAs(Time)]
    incidents: list[NodeIncident]
    errors: list[NodeError]
    rate: NodeRate
    parts: list[NodePart]
    events: list[NoticeReport]


def read_history(
    session: Session, name: str, now: datetime | None = None, cluster: str | None = None
) -> NodeReport | None:
    """What is known of a node: incidents, errors, parts, events, its rate against the fleet.

    Of this cluster alone, where one is named. None for a node that nothing has named yet. Counts
    are over the last 30 days.
    """
    now = now or datetime.now(UTC)
    seen = session.execute(
        select(Cluster.name, Node.first_seen_at, Node.last_seen_at)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(Node.name == name, *in_cluster(cluster))
        .order_by(Cluster.name)
    ).all()
    events = node_notices.list_by_node(session, name, cluster)
    if seen:
        first_at = format_iso_utc(min(first for _, first, _ in seen))
        last_at = format_iso_utc(max(last for _, _, last in seen))
    elif events:
        first_at, last_at = events[-1]["at"], events[0]["at"]
    else:
        return None
    return {
        "node": name,
        "clusters": [cluster for cluster, _, _ in seen if cluster],
        "first_seen_at": first_at,
        "last_seen_at": last_at,
        "incidents": _list_incidents(session, name, cluster),
        "errors": _list_errors(session, name, cluster),
        "rate": _compute_rate(session, name, now, cluster),
        "parts": list_parts_of_node(session, name, cluster),
        "events": events,
    }


def _build_cluster_conditions(
    incident_id: InstrumentedAttribute[str], cluster: str | None
) -> list[ColumnElement[bool]]:
    """The condition that an incident is of this cluster; none where it is None."""
    if cluster is None:
        return []
    of_job = select(Incident.id).join(Job, Incident.job_fk == Job.id)
    mine = of_job.join(Cluster, Job.cluster_id == Cluster.id).where(Cluster.name == cluster)
    return [incident_id.in_(mine)]


def _list_incidents(session: Session, name: str, cluster: str | None) -> list[NodeIncident]:
    # Ids sort by the time they were made: the index alone tells which are the newest.
    newest = (
        select(Suspect.incident_id, Suspect.position)
        .where(Suspect.node == name, *_build_cluster_conditions(Suspect.incident_id, cluster))
        .order_by(Suspect.incident_id.desc(), Suspect.position)
        .limit(_MAX_INCIDENTS)
        .subquery()
    )
    rows = session.execute(
        select(Incident.id, Incident.created_at, Job.job_id, Suspect, Resolution)
        .join(newest, newest.c.incident_id == Incident.id)
        .join(
            Suspect,
            and_(
                Suspect.incident_id == newest.c.incident_id,
                Suspect.position == newest.c.position,
            ),
        )
        .join(Job, Incident.job_fk == Job.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .order_by(Incident.created_at.desc(), Incident.id.desc(), Suspect.position)
    )
    return [
        {
            "incident_id": incident_id,
            "job_id": job_id,
            "created_at": format_iso_utc(created_at),
            "position": suspect.position,
            "role": suspect.role,
            "category": suspect.category,
            "score": suspect.score,
            "gpus": suspect.row.get("gpus", []),
            "part": list_named_parts(suspect.row).first,
            "resolved_as": getattr(resolution, "category", None),
            "resolved_node": getattr(resolution, "node", None),
        }
        for incident_id, created_at, job_id, suspect, resolution in rows
    ]


def _list_errors(session: Session, name: str, cluster: str | None) -> list[NodeError]:
    """Of the newest rows, so that a node that floods its log is answered as soon as others.

    Counted by incident first: to count distinct ones, PostgreSQL would sort all rows.
    """
    newest = (
        select(*_ERROR, Evidence.incident_id, Evidence.count, Evidence.at)
        .where(Evidence.node == name, Evidence.role == EvidenceRole.ROOT)
        .where(*_build_cluster_conditions(Evidence.incident_id, cluster))
        .order_by(Evidence.at.desc())
        .limit(MAX_ROWS)
        .subquery()
    )
    of_newest = [newest.c[column.key] for column in _ERROR]
    by_incident = (
        select(
            *of_newest,
            func.sum(newest.c.count).label("total"),
            func.min(newest.c.at).label("first"),
            func.max(newest.c.at).label("last"),
        )
        .group_by(*of_newest, newest.c.incident_id)
        .subquery()
    )
    key = [by_incident.c[column.key] for column in _ERROR]
    last = func.max(by_incident.c.last)
    by_error: Select[Any] = (
        select(
            *key,
            func.sum(by_incident.c.total).label("count"),
            func.count().label("incidents"),
            func.min(by_incident.c.first).label("first_at"),
            last.label("last_at"),
        )
        .group_by(*key)
        .order_by(func.count().desc(), last.desc(), *key)
        .limit(_MAX_ERRORS)
    )
    rows = [
        {
            **row,
            "count": int(row["count"]),
            "first_at": format_iso_utc(row["first_at"]),
            "last_at": format_iso_utc(row["last_at"]),
        }
        for row in session.execute(by_error).mappings()
    ]
    return cast("list[NodeError]", rows)


def _compute_rate(session: Session, name: str, now: datetime, cluster: str | None) -> NodeRate:
    """How often it was the culprit, and how often a node of the fleet is on average."""
    since = now - _WINDOW
    as_culprit = (
        select(func.count())
        .select_from(Suspect)
        .join(Incident, Suspect.incident_id == Incident.id)
        .where(Suspect.role == Role.CULPRIT, Incident.created_at >= since)
        .where(*_build_cluster_conditions(Incident.id, cluster))
    )
    mine = session.scalar(as_culprit.where(Suspect.node == name)) or 0
    all_of_them = session.scalar(as_culprit.where(Suspect.node.is_not(None))) or 0
    nodes = select(func.count()).select_from(Node).join(Cluster, Node.cluster_id == Cluster.id)
    nodes = nodes.where(*in_cluster(cluster))
    num_nodes = session.scalar(nodes) or 1
    mean = all_of_them / num_nodes
    return {
        "window_days": _WINDOW.days,
        "incidents": mine,
        "fleet_nodes": num_nodes,
        "fleet_mean": round(mean, 6),
        "ratio": round(mine / mean, 3) if mean else None,
    }
