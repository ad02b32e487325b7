"""Test plans: which nodes to test together, with the results so far."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, tuple_, update
from sqlalchemy.orm import Session

from models import Cluster, Node, TestPlan
from triage.fleet.store.clusters import within_cluster
from triage.store.database.ids import new_id

__all__ = ["StoredPlan", "add", "find", "newest", "places_of", "replace"]


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """One plan; ``version`` grows with each change, ``body`` is its wire form."""

    id: str
    cluster: str
    incident_id: str | None
    created_at: datetime
    updated_at: datetime
    version: int
    body: dict[str, Any]


def add(
    session: Session,
    cluster_id: int,
    incident_id: str | None,
    body: dict[str, Any],
    now: datetime,
    key_id: str | None,
) -> str:
    """Keep a new plan; its id."""
    row = TestPlan(
        id=new_id("plan", now),
        cluster_id=cluster_id,
        incident_id=incident_id,
        created_at=now,
        updated_at=now,
        version=1,
        key_id=key_id,
        body=body,
    )
    session.add(row)
    session.flush()
    return row.id


def find(session: Session, plan_id: str) -> StoredPlan | None:
    """The plan of this id; None where there is none."""
    query = select(TestPlan, Cluster.name).join(Cluster).where(TestPlan.id == plan_id)
    found = session.execute(query).one_or_none()
    return None if found is None else stored(*found)


def replace(
    session: Session, plan_id: str, version: int, body: dict[str, Any], now: datetime
) -> bool:
    """Put ``body`` in place of that of ``version``; False where somebody was faster."""
    found = session.execute(
        update(TestPlan)
        .where(TestPlan.id == plan_id, TestPlan.version == version)
        .values(body=body, version=version + 1, updated_at=now)
    )
    return bool(found.rowcount)  # type: ignore[attr-defined]


def newest(
    session: Session,
    limit: int,
    *,
    cluster: str | None = None,
    incident_id: str | None = None,
    before: tuple[datetime, str] | None = None,
) -> list[StoredPlan]:
    """The newest plans, of a cluster or an incident; those made ``before`` a time and an id."""
    query = select(TestPlan, Cluster.name).join(Cluster)
    if cluster is not None:
        query = query.where(Cluster.name == cluster)
    if incident_id is not None:
        query = query.where(TestPlan.incident_id == incident_id)
    if before is not None:
        query = query.where(tuple_(TestPlan.created_at, TestPlan.id) < before)
    ordered = query.order_by(TestPlan.created_at.desc(), TestPlan.id.desc()).limit(limit)
    return [stored(*row) for row in session.execute(ordered)]


def places_of(session: Session, cluster: str | None, kind: str) -> dict[str, str]:
    """The rack or leaf switch (``kind`` is rack or leaf) of each node where one is known."""
    column = Node.rack if kind == "rack" else Node.leaf_switch
    query = within_cluster(
        select(Node.name, column).where(column.is_not(None)), Node.cluster_id, cluster
    )
    return {name: place for name, place in session.execute(query) if place}


def stored(row: TestPlan, cluster: str) -> StoredPlan:
    return StoredPlan(
        row.id, cluster, row.incident_id, row.created_at, row.updated_at, row.version, row.body
    )
