"""Earlier incidents in which a node was convicted, in case it is the same trouble again.

A node's name says which node only within one cluster. Where one of the two incidents names
no cluster, the name alone has to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Subquery, and_, or_, select, union_all
from sqlalchemy.orm import Session, aliased

from models import Cluster, Incident, Job, Resolution, Suspect
from triage.domain.category import OF_THE_NODE, Role

# The newest convictions of a node that are looked at, and how many of all nodes are read.
_MAX_LOOKED_AT: Final = 200
MAX_READ: Final = 60


@dataclass(frozen=True, slots=True)
class Conviction:
    """A node that was the first suspect of an incident; ``suspect`` as the report prints it."""

    incident_id: str
    job_id: str
    at: datetime
    node: str
    suspect: dict[str, Any]


def list_first_suspects(session: Session, incident_id: str, limit: int) -> list[Conviction]:
    """The first suspects of this incident whose trouble a node can have again.

    Convicted or only possible ones: of a tie, the past may tell. None whom a person has cleared.
    """
    rows = session.execute(
        select(Incident.created_at, Job.job_id, Suspect.node, Suspect.row)
        .select_from(Suspect)
        .join(Incident, Suspect.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(
            Suspect.incident_id == incident_id,
            Suspect.node.is_not(None),
            Suspect.role.in_((Role.CULPRIT, Role.POSSIBLE)),
            Suspect.category.in_(OF_THE_NODE),
            build_accused_condition(),
        )
        .order_by(Suspect.position)
        .limit(limit)
    )
    return [Conviction(incident_id, job_id, at, node, row) for at, job_id, node, row in rows]


def list_earlier(session: Session, incident_id: str, nodes: Sequence[str]) -> list[Conviction]:
    """Incidents opened before this one whose first suspect was one of these nodes, convicted.

    Newest first, at most 60; only answers that are final, and that no person has said to be
    about another node or about none.
    """
    if not nodes:
        return []
    looked_at = _select_convicted_before(incident_id, nodes)
    mine = aliased(Incident)
    my_job = aliased(Job)
    my_cluster = aliased(Cluster)
    same_cluster = or_(
        Job.cluster_id == my_job.cluster_id, Cluster.name == "", my_cluster.name == ""
    )
    rows = session.execute(
        select(Incident.id, Job.job_id, Incident.created_at, Suspect.node, Suspect.row)
        .join(
            looked_at,
            and_(
                Suspect.incident_id == looked_at.c.incident_id,
                Suspect.position == looked_at.c.position,
            ),
        )
        .join(Incident, Suspect.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .join(mine, mine.id == incident_id)
        .join(my_job, mine.job_fk == my_job.id)
        .join(my_cluster, my_job.cluster_id == my_cluster.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(
            looked_at.c.position == 1,
            Suspect.category.in_(OF_THE_NODE),
            Incident.provisional.is_(False),
            same_cluster,
            build_accused_condition(),
        )
        .order_by(Suspect.incident_id.desc())
        .limit(MAX_READ)
    )
    return [Conviction(*row) for row in rows]


def _select_convicted_before(incident_id: str, nodes: Sequence[str]) -> Subquery:
    """(incident, position) of the newest convictions of each node before this incident."""
    # Ids sort by the time they were made: each arm is one walk along the index.
    arms = [
        select(
            select(Suspect.incident_id, Suspect.position)
            .where(
                Suspect.role == Role.CULPRIT,
                Suspect.node == node,
                Suspect.incident_id < incident_id,
            )
            .order_by(Suspect.incident_id.desc())
            .limit(_MAX_LOOKED_AT)
            .subquery()
        )
        for node in nodes
    ]
    return union_all(*arms).subquery()


def build_accused_condition() -> ColumnElement[bool]:
    """Nobody has said that it was another node, or no trouble of a node at all."""
    same_node = or_(Resolution.node.is_(None), Resolution.node == Suspect.node)
    return or_(
        Resolution.incident_id.is_(None),
        and_(Resolution.category.in_(OF_THE_NODE), same_node),
    )
