"""What evidence asks to be checked: errors of nodes, convictions, and repairs, newest each."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Cluster, Evidence, Incident, Job, Node, Outage, Resolution, Suspect
from triage.domain.category import HARDWARE, Category, Role
from triage.domain.evidence import EvidenceRole, Kind
from triage.store.incidents.settling import build_accused_condition

# Kinds that a kernel or a driver prints; a job's own words about a part ask for no check.
_OF_MACHINES: Final = (
    *(Kind.XID, Kind.SXID, Kind.ECC, Kind.LINK),
    *(Kind.NIC, Kind.PCIE, Kind.THERMAL, Kind.POWER),
)
_ERRORS: Final = (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE)


class Sighting(NamedTuple):
    """The newest time of one error of a node; ``what`` is its Xid code or its category."""

    cluster: str
    node: str
    what: str | int
    at: datetime


def list_xid_sightings(
    session: Session,
    codes: Collection[int],
    since: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> list[Sighting]:
    """Xids of these codes in logs of incidents since then."""
    wanted = (
        Evidence.role.in_(_ERRORS),
        Evidence.kind == Kind.XID,
        Evidence.code.in_(codes),
        *_iterate_conditions(Evidence.node, cluster, node),
    )
    return _list_newest_lines(session, Evidence.code, since, *wanted)


def list_error_sightings(
    session: Session,
    categories: Collection[Category],
    since: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> list[Sighting]:
    """Roots of these categories that machines printed since then."""
    wanted = (
        Evidence.role == EvidenceRole.ROOT,
        Evidence.kind.in_(_OF_MACHINES),
        Evidence.category.in_(categories),
        # A check that failed asks for no check.
        Evidence.signature.not_like("check.%"),
        *_iterate_conditions(Evidence.node, cluster, node),
    )
    return _list_newest_lines(session, Evidence.category, since, *wanted)


def _list_newest_lines(
    session: Session,
    column: InstrumentedAttribute[Any],
    since: datetime,
    *wanted: ColumnElement[bool],
) -> list[Sighting]:
    """The newest line of each node and value of ``column``, of those that are ``wanted``."""
    query = (
        select(Cluster.name, Evidence.node, column, func.max(Evidence.at))
        .join(Incident, Evidence.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(*wanted, Evidence.at >= since, Evidence.node.is_not(None))
        .group_by(Cluster.name, Evidence.node, column)
    )
    rows = session.execute(query)
    return [Sighting._make(row) for row in rows if None not in row]


def list_convictions(
    session: Session, since: datetime, *, cluster: str | None = None, node: str | None = None
) -> list[Sighting]:
    """Nodes convicted of a hardware cause since then, and not cleared by a person."""
    query = (
        select(Cluster.name, Suspect.node, Suspect.category, func.max(Incident.created_at))
        .join(Incident, Suspect.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(Suspect.role == Role.CULPRIT, Suspect.position == 1, Suspect.node.is_not(None))
        .where(Suspect.category.in_(HARDWARE), *_iterate_conditions(Suspect.node, cluster, node))
        .where(
            Incident.provisional.is_(False), Incident.created_at >= since, build_accused_condition()
        )
        .group_by(Cluster.name, Suspect.node, Suspect.category)
    )
    return [Sighting._make(row) for row in session.execute(query)]


def map_last_repairs(
    session: Session, since: datetime, *, cluster: str | None = None, node: str | None = None
) -> dict[tuple[str, str], datetime]:
    """(cluster, node) -> when it last came back into service since then."""
    query = (
        select(Cluster.name, Node.name, func.max(Outage.to_at))
        .join(Node, Outage.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(Outage.to_at >= since, *_iterate_conditions(Node.name, cluster, node))
        .group_by(Cluster.name, Node.name)
    )
    return {(name, host): at for name, host, at in session.execute(query) if at is not None}


def _iterate_conditions(
    host: InstrumentedAttribute[Any], cluster: str | None, node: str | None
) -> Iterator[ColumnElement[bool]]:
    """The conditions that keep this cluster and this node alone, where they are named."""
    if cluster is not None:
        yield Cluster.name == cluster
    if node is not None:
        yield host == node
