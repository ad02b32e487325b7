"""What evidence asks to be checked: errors of nodes, convictions, and repairs, newest each."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Cluster, Evidence, Incident, Job, Node, Outage, Resolution, Suspect
from triage.domain.category import HARDWARE, Category, Role
from triage.domain.evidence import EvidenceRole, Kind
from triage.store.incidents.repeats import accused

__all__ = ["Sighting", "convictions", "errors", "repairs", "xids"]

# Kinds that a kernel or a driver says; what a job prints of a part is hearsay.
OF_MACHINES: Final = (
    Kind.XID, Kind.SXID, Kind.ECC, Kind.LINK, Kind.NIC, Kind.PCIE, Kind.THERMAL, Kind.POWER,
)  # fmt: skip
HEARD: Final = (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE)


class Sighting(NamedTuple):
    """The newest time that ``what`` was seen of a node."""

    cluster: str
    node: str
    what: str
    at: datetime


def xids(
    session: Session,
    codes: Collection[int],
    since: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> list[Sighting]:
    """Xids of these codes in logs of incidents since then; ``what`` is the code."""
    found = newest_lines(
        session, Evidence.code, since, cluster, node,
        Evidence.role.in_(HEARD), Evidence.kind == Kind.XID, Evidence.code.in_(codes),
    )  # fmt: skip
    return [Sighting(name, host, f"Xid {code}", at) for name, host, code, at in found]


def errors(
    session: Session,
    categories: Collection[Category],
    since: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> list[Sighting]:
    """Roots of these categories that machines printed since then; ``what`` is the category."""
    found = newest_lines(
        session, Evidence.category, since, cluster, node,
        Evidence.role == EvidenceRole.ROOT, Evidence.kind.in_(OF_MACHINES),
        Evidence.category.in_(categories),
        # A check that failed asks for no check.
        Evidence.signature.not_like("check.%"),
    )  # fmt: skip
    return [Sighting(*row) for row in found]


def newest_lines(
    session: Session,
    what: InstrumentedAttribute[Any],
    since: datetime,
    cluster: str | None,
    node: str | None,
    *wanted: ColumnElement[bool],
) -> Iterator[tuple[str, str, Any, datetime]]:
    """(cluster, node, what, newest time) of the lines since then that are wanted."""
    found = (
        select(Cluster.name, Evidence.node, what, func.max(Evidence.at))
        .join(Incident, Evidence.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(
            *wanted, Evidence.at >= since, Evidence.node.is_not(None),
            *of_whom(Evidence.node, cluster, node),
        )
        .group_by(Cluster.name, Evidence.node, what)
    )  # fmt: skip
    for name, host, value, at in session.execute(found):
        if host is not None and value is not None and at is not None:
            yield name, host, value, at


def convictions(
    session: Session, since: datetime, *, cluster: str | None = None, node: str | None = None
) -> list[Sighting]:
    """Nodes convicted of a hardware cause since then, whom nobody cleared; ``what`` it was."""
    newest = func.max(Incident.created_at)
    found = (
        select(Cluster.name, Suspect.node, Suspect.category, newest)
        .join(Incident, Suspect.incident_id == Incident.id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(
            Suspect.role == Role.CULPRIT, Suspect.position == 1, Suspect.node.is_not(None),
            Suspect.category.in_(HARDWARE), Incident.provisional.is_(False),
            Incident.created_at >= since, accused(), *of_whom(Suspect.node, cluster, node),
        )
        .group_by(Cluster.name, Suspect.node, Suspect.category)
    )  # fmt: skip
    return [
        Sighting(name, host, category, at)
        for name, host, category, at in session.execute(found)
        if host is not None
    ]


def repairs(
    session: Session, since: datetime, *, cluster: str | None = None, node: str | None = None
) -> dict[tuple[str, str], datetime]:
    """(cluster, node) -> when it last came back into service since then."""
    found = (
        select(Cluster.name, Node.name, func.max(Outage.to_at))
        .join(Node, Outage.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(Outage.to_at >= since, *of_whom(Node.name, cluster, node))
        .group_by(Cluster.name, Node.name)
    )
    return {(name, host): at for name, host, at in session.execute(found) if at is not None}


def of_whom(
    host: InstrumentedAttribute[Any], cluster: str | None, node: str | None
) -> Iterator[ColumnElement[bool]]:
    """Of this cluster and this node alone, where they are named."""
    if cluster is not None:
        yield Cluster.name == cluster
    if node is not None:
        yield host == node
