"""Clusters, training jobs and nodes: found, or made on first sight."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, cast

from sqlalchemy import ColumnElement, Table, bindparam, select, update
from sqlalchemy.orm import Session

from models import Cluster, Incident, Job, Node
from models.base import normalize_stored_name
from triage.domain.batched import split_into_batches
from triage.store.database.upsert import insert_missing, lock_rows

# A node that was seen so short a while ago is not written again.
_SEEN_AGAIN: Final = timedelta(seconds=30)
# Asked by every upload and every reading; made once, of the table.
_NODES: Final = cast("Table", Node.__table__)
_LAST_SEEN: Final = select(_NODES.c.name, _NODES.c.last_seen_at).where(
    _NODES.c.cluster_id == bindparam("of_cluster"),
    _NODES.c.name.in_(bindparam("wanted", expanding=True)),
)


def lock_job(session: Session, cluster: str, job_id: str, now: datetime) -> int:
    """The key of a job, made if it is new; locked until the session ends.

    A session that opens an incident locks its job, so that two of them see each other.
    """
    cluster_id = cluster_key(session, cluster)
    found = select(Job).where(Job.cluster_id == cluster_id, Job.job_id == job_id)
    row = lock_rows(session, found).one_or_none()
    if row is None:
        new = {"cluster_id": cluster_id, "job_id": job_id, "last_turn": 0, "created_at": now}
        insert_missing(session, Job, [new])
        row = lock_rows(session, found).one()
    return row.id


def cluster_key(session: Session, name: str) -> int:
    """The key of a cluster, made if it is new."""
    found = select(Cluster.id).where(Cluster.name == name)
    key = session.scalar(found)
    if key is None:
        insert_missing(session, Cluster, [{"name": name}])
        key = session.scalar(found)
    return int(key or 0)


def in_cluster(name: str | None) -> list[ColumnElement[bool]]:
    """The condition that a row is of the cluster of this name; none for None."""
    return [] if name is None else [Cluster.name == name]


def hold_cluster(session: Session, cluster_id: int) -> None:
    """From now on nobody else decides what is counted for a whole cluster, until the session ends:
    which acts it allows, and to which problems its incidents belong.
    """
    lock_rows(session, select(Cluster).where(Cluster.id == cluster_id)).one_or_none()


def find_cluster(session: Session, incident_id: str) -> int:
    """The key of the cluster that an incident's job runs on."""
    found = session.scalar(
        select(Job.cluster_id)
        .join(Incident, Incident.job_fk == Job.id)
        .where(Incident.id == incident_id)
    )
    return int(found or 0)


def note_nodes_seen(session: Session, cluster_id: int, names: Iterable[str], now: datetime) -> None:
    """Note that something named these nodes now, or in the last seconds."""
    wanted = sorted({normalize_stored_name(name) for name in names if name})
    known: dict[str, datetime] = {}
    for part in split_into_batches(wanted, 1000):
        asked = {"of_cluster": cluster_id, "wanted": part}
        known |= {row.name: row.last_seen_at for row in session.execute(_LAST_SEEN, asked)}
    fresh = [name for name in wanted if name not in known]
    insert_missing(
        session,
        Node,
        [
            {"cluster_id": cluster_id, "name": name, "first_seen_at": now, "last_seen_at": now}
            for name in fresh
        ],
    )
    here = sorted(name for name, at in known.items() if at < now - _SEEN_AGAIN)
    for part in split_into_batches(here, 1000):
        # Whom somebody else sees just now need not be waited for: it is the same news.
        free = (
            select(Node.id)
            .where(Node.cluster_id == cluster_id, Node.name.in_(part))
            .where(Node.last_seen_at < now)
            .with_for_update(skip_locked=True)
        )
        ids = session.scalars(free).all()
        if ids:
            session.execute(update(Node).where(Node.id.in_(ids)).values(last_seen_at=now))


def find_node_keys(session: Session, cluster_id: int, names: Iterable[str]) -> dict[str, int]:
    """The keys of the nodes that are known, by the names as they were given."""
    given: dict[str, list[str]] = {}
    for name in names:
        given.setdefault(normalize_stored_name(name), []).append(name)
    found: dict[str, int] = {}
    for part in split_into_batches(sorted(given), 1000):
        rows = session.execute(
            select(Node.name, Node.id).where(Node.cluster_id == cluster_id, Node.name.in_(part))
        )
        found |= {name: row.id for row in rows for name in given[row.name]}
    return found
