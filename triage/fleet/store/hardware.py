"""Stays of parts as records and people ask for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, NamedTuple

from sqlalchemy import ColumnElement, and_, func, select, true
from sqlalchemy.orm import Session

from models import Cluster, Node, PartSighting
from triage.domain.hardware import HardwareKind
from triage.domain.wire import SentAs, WireForm

__all__ = ["PartRow", "PartStayView", "listing", "nodes_of_moved_parts", "stays_of"]

# What has more stays is a number that firmware made up.
MOST_STAYS: Final = 32
AT_ONCE: Final = 400


class PartRow(NamedTuple):
    """A stay of a part in a node, by the node's key."""

    node: int
    kind: str
    identity: str
    slot: str
    first_at: datetime
    last_at: datetime


COLUMNS: Final = (
    PartSighting.node_id,
    PartSighting.kind,
    PartSighting.identity,
    PartSighting.slot,
    PartSighting.first_at,
    PartSighting.last_at,
)


def nodes_of_moved_parts(session: Session, of: Sequence[int]) -> list[int]:
    """The nodes of these clusters that hold or held what several of them held.

    Parts that many nodes claim are left out: their number is one that firmware made up.
    """
    inside = and_(true(), *of_clusters(session, of))
    first, last = func.min(PartSighting.node_id), func.max(PartSighting.node_id)
    moved = (
        select(PartSighting.kind, PartSighting.identity)
        .where(inside)
        .group_by(PartSighting.kind, PartSighting.identity)
        .having(first < last, func.count() <= MOST_STAYS)
        .subquery()
    )
    same = and_(PartSighting.kind == moved.c.kind, PartSighting.identity == moved.c.identity)
    return sorted(session.scalars(select(PartSighting.node_id).join(moved, same).distinct()))


def stays_of(session: Session, nodes: Sequence[int], until: datetime) -> list[PartRow]:
    """All stays of these nodes that began before ``until``."""
    found: list[PartRow] = []
    for start in range(0, len(nodes), AT_ONCE):
        rows = select(*COLUMNS).where(
            PartSighting.first_at < until,
            PartSighting.node_id.in_(nodes[start : start + AT_ONCE]),
        )
        found += [PartRow(*row) for row in session.execute(rows)]
    return found


@dataclass(frozen=True, slots=True)
class PartStayView(WireForm):
    """A part in a node, from the first to the last time that anything said so."""

    kind: Annotated[str, SentAs(HardwareKind)]
    identity: str
    slot: Annotated[str, "Where in the node; empty where nobody says."]
    node: str
    cluster: Annotated[str, "Empty where nobody named one."]
    first_at: datetime
    last_at: datetime
    source: Annotated[str, "incident or import."]


def listing(
    session: Session,
    *,
    identities: Sequence[str] | None = None,
    node: str | None = None,
    cluster: str | None = None,
    limit: int = 50,
) -> list[PartStayView]:
    """Stays, the newest first: of parts with one of these identities, of a node, of a cluster."""
    query = (
        select(
            PartSighting.kind,
            PartSighting.identity,
            PartSighting.slot,
            Node.name,
            Cluster.name,
            PartSighting.first_at,
            PartSighting.last_at,
            PartSighting.source,
        )
        .join(Node, PartSighting.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(PartSighting.kind.in_(list(HardwareKind)))
    )
    if identities is not None:
        query = query.where(PartSighting.identity.in_(identities))
    if node is not None:
        query = query.where(Node.name == node)
    if cluster is not None:
        query = query.where(Cluster.name == cluster)
    newest = query.order_by(PartSighting.last_at.desc(), PartSighting.id.desc()).limit(limit)
    return [PartStayView(*row) for row in session.execute(newest)]


def of_clusters(session: Session, of: Sequence[int]) -> Iterator[ColumnElement[bool]]:
    """Nothing where it is all of them: a join over a whole fleet takes longer than the rest."""
    if session.scalar(select(Cluster.id).where(Cluster.id.not_in(of)).limit(1)) is not None:
        yield PartSighting.node_id.in_(select(Node.id).where(Node.cluster_id.in_(of)))
