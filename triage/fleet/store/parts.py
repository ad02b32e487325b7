"""Parts by the identity of their maker: in which nodes each was seen, first and last."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, NamedTuple

from sqlalchemy import ColumnElement, and_, func, select, true
from sqlalchemy.orm import Session

from models import Artifact, Cluster, Node, PartSighting, Upload
from triage.domain.hardware import HardwareKind
from triage.domain.wire import SentAs, WireForm
from triage.fleet.store.exposure import Sighting
from triage.store.jobs import find_node_keys
from triage.store.uploads.evidence import Reading

_CHUNK: Final = 500
# What is in more nodes is a number that firmware made up.
_MOST_NODES: Final = 32


class Origin(NamedTuple):
    """The node that sent a file, the token that it came with, and when it came."""

    node: str | None
    key_id: str | None
    at: datetime


def list_reading_origins(
    session: Session, readings: Sequence[Reading]
) -> list[tuple[Origin, Reading]]:
    """Where the files of these readings came from; those that are gone are left out."""
    wanted = {one.artifact_id: one for one in readings}
    ids = sorted(wanted)
    found: list[tuple[Origin, Reading]] = []
    for start in range(0, len(ids), _CHUNK):
        rows = session.execute(
            select(Artifact.id, Artifact.node, Upload.key_id, Artifact.created_at)
            .join(Upload, Artifact.upload_id == Upload.id)
            .where(Artifact.id.in_(ids[start : start + _CHUNK]))
        )
        found += [(Origin(node, key, at), wanted[name]) for name, node, key, at in rows]
    return found


def map_short_names(session: Session, cluster_id: int, names: Iterable[str]) -> dict[str, str]:
    """Each name as the scheduler has it: ``n12.example.com`` is ``n12`` where that is a node."""
    first = {name: name.partition(".")[0] for name in names}
    known = set(find_node_keys(session, cluster_id, {name for name in first.values() if name}))
    return {name: short if short in known else name for name, short in first.items()}


def list_moved_parts(session: Session, of: Sequence[int], until: datetime) -> list[Sighting]:
    """All parts that were there before ``until`` in the nodes of these clusters that hold or held
    what several of them held.

    Parts that many nodes claim make no node one of them: their number is one that firmware made up.
    """
    inside = and_(true(), *_filter_by_clusters(session, of))
    first, last = func.min(PartSighting.node_id), func.max(PartSighting.node_id)
    moved = (
        select(PartSighting.kind, PartSighting.identity)
        .where(inside)
        .group_by(PartSighting.kind, PartSighting.identity)
        .having(first < last, func.count() <= _MOST_NODES)
        .subquery()
    )
    same = and_(PartSighting.kind == moved.c.kind, PartSighting.identity == moved.c.identity)
    nodes = sorted(session.scalars(select(PartSighting.node_id).join(moved, same).distinct()))
    rows = select(*(getattr(PartSighting, name) for name in Sighting._fields))
    return [
        Sighting._make(row)
        for start in range(0, len(nodes), _CHUNK)
        for row in session.execute(
            rows.where(
                PartSighting.first_at < until,
                PartSighting.node_id.in_(nodes[start : start + _CHUNK]),
            )
        )
    ]


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


def list_part_stays(
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


def _filter_by_clusters(session: Session, of: Sequence[int]) -> Iterator[ColumnElement[bool]]:
    """Nothing where it is all of them: a join over a whole fleet takes longer than the rest."""
    if session.scalar(select(Cluster.id).where(Cluster.id.not_in(of)).limit(1)) is not None:
        yield PartSighting.node_id.in_(select(Node.id).where(Node.cluster_id.in_(of)))
