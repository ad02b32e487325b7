"""For how long the incidents and files of a cluster are kept, where it has days of its own."""

from dataclasses import dataclass

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from models import Cluster
from triage.store.jobs import cluster_key


@dataclass(frozen=True, slots=True)
class ClusterRetention:
    """Days of one cluster; None where the settings hold for it."""

    cluster_id: int
    cluster: str
    keep_days: float | None
    keep_blobs_days: float | None


def own_periods(session: Session) -> list[ClusterRetention]:
    """The clusters that have days of their own, by name."""
    query = select(Cluster.id, Cluster.name, Cluster.keep_days, Cluster.keep_blobs_days).where(
        or_(Cluster.keep_days.is_not(None), Cluster.keep_blobs_days.is_not(None))
    )
    return [ClusterRetention(*row) for row in session.execute(query.order_by(Cluster.name))]


def set_periods(
    session: Session, cluster: str, keep_days: float | None, keep_blobs_days: float | None
) -> None:
    """Give a cluster, which is made if it is new, days of its own; None is the settings'."""
    key = cluster_key(session, cluster)
    values = {"keep_days": keep_days, "keep_blobs_days": keep_blobs_days}
    session.execute(update(Cluster).where(Cluster.id == key).values(**values))
