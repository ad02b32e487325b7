"""Notices on nodes (health events, alerts), kept for the incidents that open within a day.

Whether a notice comes before the failure or after it, it is kept first, and incidents take it
from here: so it is the same file, judged by the same rules, whichever comes first.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypedDict

from sqlalchemy import (
    delete,
    exists,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Session

from models import Artifact, Cluster, Incident, Job, Node, NodeNotice
from models.base import normalize_stored_name
from triage.domain.batched import split_into_batches
from triage.domain.wire import Time, format_iso_utc
from triage.store import jobs
from triage.store.database.upsert import count_changed, insert_missing
from triage.store.incidents.matching import parse_failed_at

# So long before and after a failure a notice may be of it; how near it was is judged later.
_WITHIN: Final = timedelta(days=1)
_AT_ONCE: Final = 1000
# An alert that goes on is written again no more often than that.
_SEEN_AGAIN: Final = timedelta(minutes=10)
# Newest incidents of a day whose facts are looked at for a node.
_MOST_INCIDENTS: Final = 200
_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class NewNotice:
    """A notice to be kept. ``at`` is its own time, None where it says none.

    ``body`` is a file without secrets; ``redacted`` counts those by kind.
    """

    node: str
    source: str
    kind: str
    sha256: str
    at: datetime | None
    summary: str
    redacted: dict[str, int]
    body: bytes


class NoticeKey(NamedTuple):
    """A kept notice, without its body."""

    id: int
    node: str
    source: str
    kind: str
    sha256: str
    key_id: str | None
    redacted: dict[str, int]


class NodeIncidents(NamedTuple):
    """Incidents that concern some nodes, the newest first, and which of the nodes those are."""

    ids: list[str]
    nodes: set[str]


class NoticeReport(TypedDict):
    """A notice on a node, for a person. ``seen_at`` is when it came last."""

    at: Time | None
    seen_at: Time | None
    source: str
    summary: str


def keep(
    session: Session,
    cluster: str | None,
    notices: Sequence[NewNotice],
    now: datetime,
    key_id: str | None,
) -> None:
    """Keep notices of a cluster, or of none; one that is there already was seen again."""
    cluster_id = jobs.cluster_key(session, cluster or "")
    common = {"cluster_id": cluster_id, "created_at": now, "seen_at": now, "key_id": key_id}
    # In one order everywhere: two requests with the same notices do not wait for each other.
    rows = [
        {**common, **asdict(new), "at": min(new.at or now, now)}
        for new in sorted(notices, key=lambda one: (one.node, one.sha256))
    ]
    if not insert_missing(session, NodeNotice, rows):
        session.execute(
            update(NodeNotice)
            .where(NodeNotice.cluster_id == cluster_id, NodeNotice.seen_at < now - _SEEN_AGAIN)
            .where(NodeNotice.node.in_({one.node for one in notices}))
            .where(NodeNotice.sha256.in_({one.sha256 for one in notices}))
            .values(seen_at=now)
            .execution_options(synchronize_session=False)
        )


def cut_nodes(session: Session, cluster: str | None, nodes: Iterable[str], most: int) -> int:
    """Remove the oldest notices of each node, by their own time, beyond ``most``; how many."""
    of_cluster = NodeNotice.cluster_id == jobs.cluster_key(session, cluster or "")
    num_removed = 0
    for part in _split_names(nodes):
        counted = select(NodeNotice.node).where(of_cluster, NodeNotice.node.in_(part))
        beyond = counted.group_by(NodeNotice.node).having(func.count() > most)
        for node in session.scalars(beyond.order_by(NodeNotice.node)).all():
            of_node = (of_cluster, NodeNotice.node == node)
            newest = select(NodeNotice.at, NodeNotice.id).where(*of_node)
            newest = newest.order_by(NodeNotice.at.desc(), NodeNotice.id.desc())
            last = tuple(session.execute(newest.offset(most).limit(1)).one())
            older = tuple_(NodeNotice.at, NodeNotice.id) <= last
            num_removed += count_changed(session, delete(NodeNotice).where(*of_node, older))
    return num_removed


def cut_token(session: Session, key_id: str | None, most: int) -> int:
    """Remove the notices that a token brought first, beyond ``most``; how many."""
    newest = select(NodeNotice.id).where(NodeNotice.key_id == key_id)
    last = session.scalar(newest.order_by(NodeNotice.id.desc()).offset(most).limit(1))
    if last is None:
        return 0
    mine = delete(NodeNotice).where(NodeNotice.key_id == key_id)
    return count_changed(session, mine.where(NodeNotice.id <= last))


def has_any(session: Session, cluster_id: int, nodes: Iterable[str]) -> bool:
    """Whether an incident of this cluster that opens now may find notices of these nodes."""
    clusters = NodeNotice.cluster_id.in_([cluster_id, jobs.cluster_key(session, "")])
    return any(
        session.scalar(select(exists().where(clusters, NodeNotice.node.in_(part))))
        for part in _split_names(nodes)
    )


def list_by_incident(session: Session, incident_id: str) -> list[NoticeKey]:
    """The notices that an incident is to have, the newest last.

    They are of a node that its facts or files name, within a day of it, and of its cluster. One
    of no cluster is of the one cluster that has a node of this name; where several have, of none.
    """
    row = session.execute(
        select(Incident.facts, Incident.key, Incident.created_at, Job.cluster_id)
        .join(Job, Incident.job_fk == Job.id)
        .where(Incident.id == incident_id)
    ).one_or_none()
    if row is None or session.scalar(select(NodeNotice.id).limit(1)) is None:
        return []
    files = select(Artifact.node).where(Artifact.incident_id == incident_id).distinct()
    nodes = _list_named_nodes(row.facts).union(node for node in session.scalars(files) if node)
    stopped_at = parse_failed_at(row.key) or row.created_at
    of_none = jobs.cluster_key(session, "")
    found: list[tuple[datetime, NoticeKey]] = []
    for part in _split_names(nodes):
        columns = [getattr(NodeNotice, name) for name in NoticeKey._fields]
        query = (
            select(NodeNotice.cluster_id, NodeNotice.at, *columns)
            .where(NodeNotice.cluster_id.in_([row.cluster_id, of_none]), NodeNotice.node.in_(part))
            .where(NodeNotice.created_at <= row.created_at + _WITHIN)
            .where(NodeNotice.seen_at >= row.created_at - _WITHIN)
            .where(NodeNotice.at <= stopped_at + _WITHIN)
        )
        rows = session.execute(query).all()
        strange = _find_elsewhere(session, row.cluster_id, {one.node for one in rows})
        found += [
            (at, NoticeKey(*of_row))
            for cluster_id, at, *of_row in rows
            if cluster_id == row.cluster_id or NoticeKey(*of_row).node not in strange
        ]
    return [key for _, key in sorted(found, key=lambda one: (one[0], one[1].id))]


def _find_elsewhere(session: Session, cluster_id: int, nodes: Collection[str]) -> set[str]:
    """Those of the nodes that another cluster of a name has, too."""
    named = (
        select(Node.name)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(Node.name.in_(nodes), Cluster.name != "", Cluster.id != cluster_id)
    )
    return set(session.scalars(named)) if nodes else set()


def read_bodies(session: Session, ids: Iterable[int]) -> dict[int, bytes]:
    """The files of these notices, by id; those that are there still."""
    wanted = select(NodeNotice.id, NodeNotice.body).where(NodeNotice.id.in_(list(ids)))
    return {row.id: row.body for row in session.execute(wanted)}


def list_incidents_of_nodes(
    session: Session, nodes: Collection[str], since: datetime, cluster: str | None
) -> NodeIncidents:
    """The incidents since then whose facts or files name one of these nodes, the newest first.

    Of this cluster alone, where one is named. Where a node is not named by a cluster, those of
    :func:`list_by_incident`.
    """
    recent = (
        select(Incident.id, Incident.facts, Job.cluster_id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(Incident.created_at >= since, *([Cluster.name == cluster] if cluster else []))
        .order_by(Incident.created_at.desc(), Incident.id.desc())
        .limit(_MOST_INCIDENTS)
    )
    wanted = {normalize_stored_name(node): node for node in nodes}
    rows = session.execute(recent).all()
    by_files: dict[str, set[str]] = {}
    for part in _split_names(wanted):
        files = (
            select(Artifact.incident_id, Artifact.node)
            .where(Artifact.incident_id.in_([row.id for row in rows]), Artifact.node.in_(part))
            .distinct()
        )
        for incident_id, node in session.execute(files):
            by_files.setdefault(incident_id, set()).add(str(node))
    strange: dict[int, set[str]] = {}
    found = NodeIncidents([], set())
    for row in rows:
        mine = (_list_named_nodes(row.facts) & wanted.keys()) | by_files.get(row.id, set())
        if mine and cluster is None:
            if row.cluster_id not in strange:
                strange[row.cluster_id] = _find_elsewhere(session, row.cluster_id, wanted.keys())
            mine -= strange[row.cluster_id]
        if mine:
            found.ids.append(row.id)
            found.nodes.update(wanted[node] for node in mine)
    return found


def _list_named_nodes(facts: dict[str, Any]) -> set[str]:
    """The nodes that a job's facts name, in whatever shape they came."""
    nodes, table = facts.get("nodes"), facts.get("rank_to_node")
    listed = nodes if isinstance(nodes, list) else []
    placed = table.values() if isinstance(table, dict) else []
    return {normalize_stored_name(name) for name in (*listed, *placed) if isinstance(name, str)}


def list_by_node(session: Session, node: str, cluster: str | None) -> list[NoticeReport]:
    """The newest notices on a node, of this cluster alone where one is named."""
    query = (
        select(NodeNotice.at, NodeNotice.seen_at, NodeNotice.source, NodeNotice.summary)
        .join(Cluster, NodeNotice.cluster_id == Cluster.id)
        .where(NodeNotice.node == node, *jobs.in_cluster(cluster))
        .order_by(NodeNotice.at.desc(), NodeNotice.id.desc())
        .limit(_SHOWN)
    )
    return [
        {
            "at": format_iso_utc(row.at),
            "seen_at": format_iso_utc(row.seen_at),
            "source": row.source,
            "summary": row.summary,
        }
        for row in session.execute(query)
    ]


def erase_of_incident(session: Session, incident_id: str) -> int:
    """Remove the notices that an incident has as files; how many."""
    files = select(Artifact.node, Artifact.sha256).where(Artifact.incident_id == incident_id)
    rows = session.execute(files.where(Artifact.node.is_not(None)).distinct()).all()
    return sum(erase(session, node, sha256) for node, sha256 in rows)


def erase(session: Session, node: str | None, sha256: str) -> int:
    """Remove what is the same file, of whatever cluster; how many."""
    same = delete(NodeNotice).where(NodeNotice.node == node, NodeNotice.sha256 == sha256)
    return count_changed(session, same.where(NodeNotice.cluster_id.in_(select(Cluster.id))))


def count_brought(session: Session, key_id: str) -> int:
    """How many kept notices a token has brought."""
    query = select(func.count()).where(NodeNotice.key_id == key_id)
    return session.scalar(query) or 0


def withdraw(session: Session, key_id: str) -> int:
    """Remove what a token has brought; how many."""
    return count_changed(session, delete(NodeNotice).where(NodeNotice.key_id == key_id))


def prune(session: Session, before: datetime) -> int:
    """Remove what came last before that time; how many."""
    return count_changed(session, delete(NodeNotice).where(NodeNotice.seen_at < before))


def _split_names(names: Iterable[str]) -> Iterator[list[str]]:
    return split_into_batches(sorted(set(names)), _AT_ONCE)
