"""Rows of one cluster: the condition that most queries of the fleet end with."""

from typing import TypeVarTuple

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute

from models import Cluster

Ts = TypeVarTuple("Ts")


def filter_by_cluster(
    query: Select[*Ts], cluster_id: InstrumentedAttribute[int], cluster: str | None
) -> Select[*Ts]:
    """The rows whose ``cluster_id`` is that of the named cluster; all rows where it is None."""
    if cluster is None:
        return query
    return query.join(Cluster, cluster_id == Cluster.id).where(Cluster.name == cluster)
