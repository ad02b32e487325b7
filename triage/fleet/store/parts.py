"""Parts by the identity of their maker: in which nodes each was seen, first and last."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

from sqlalchemy import ColumnElement, and_, func, select, true
from sqlalchemy.orm import Session

from models import Artifact, Cluster, Node, PartSighting, Upload
from triage.domain.hardware import HardwareKind
from triage.domain.wire import SentAs, WireForm
from triage.fleet.store.merged_rows import Tally, keep_merged
from triage.store.jobs import find_node_keys
from triage.store.uploads.evidence import Reading

CHUNK: Final = 500
# What is in more nodes is a number that firmware made up.
MOST_NODES: Final = 32
BUS: Final = ":"


class PartKey(NamedTuple):
    """A part: its kind, and the identity that its maker gave it."""

    kind: str
    identity: str


class Sighting(NamedTuple):
    """A node, by its key, names a part at a time, or from one time to another."""

    part: PartKey
    node: int
    slot: str
    first_at: datetime
    last_at: datetime
    source: str
    key_id: str | None = None

    @property
    def key(self) -> tuple[PartKey, int]:
        """There is one row of a part in a node."""
        return self.part, self.node


def keep_sightings(session: Session, seen: Iterable[Sighting]) -> Tally:
    """Keep what was seen: of each part and node the first and the last time."""
    return keep_merged(
        session,
        PartSighting,
        seen,
        stored_among=_lock_stored,
        merge=_merge,
        columns_of=_build_columns,
    )


def _merge(one: Sighting, other: Sighting) -> Sighting:
    """Both as one; of the slots the one that says more, an address before a number."""
    first, second = one.slot, other.slot
    return one._replace(
        slot=max(first, second, key=lambda slot: (BUS in slot, bool(slot), slot == first)),
        first_at=min(one.first_at, other.first_at),
        last_at=max(one.last_at, other.last_at),
    )


def _lock_stored(
    session: Session, seen: Iterable[Sighting]
) -> dict[tuple[PartKey, int], tuple[int, Sighting]]:
    """The rows of these parts and nodes, locked until the session ends.

    Of several rows of one, which a database of 0.2 may have, the oldest is kept.
    """
    wanted = sorted({one.key for one in seen})
    found: dict[tuple[PartKey, int], tuple[int, Sighting]] = {}
    for start in range(0, len(wanted), CHUNK):
        part = wanted[start : start + CHUNK]
        among = set(part)
        rows = session.scalars(
            select(PartSighting)
            .where(
                PartSighting.identity.in_({key.identity for key, _ in part}),
                PartSighting.node_id.in_({node for _, node in part}),
            )
            .order_by(PartSighting.id)
            .with_for_update()
        )
        for row in rows:
            key = PartKey(row.kind, row.identity)
            times = row.first_at, row.last_at
            kept = Sighting(key, row.node_id, row.slot, *times, row.source, row.key_id)
            if kept.key in among:
                found.setdefault(kept.key, (row.id, kept))
    return found


def _build_columns(seen: Sighting) -> dict[str, Any]:
    own = seen._asdict()
    return {**own.pop("part")._asdict(), "node_id": own.pop("node"), **own}


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
    for start in range(0, len(ids), CHUNK):
        rows = session.execute(
            select(Artifact.id, Artifact.node, Upload.key_id, Artifact.created_at)
            .join(Upload, Artifact.upload_id == Upload.id)
            .where(Artifact.id.in_(ids[start : start + CHUNK]))
        )
        found += [(Origin(node, key, at), wanted[name]) for name, node, key, at in rows]
    return found


def map_short_names(session: Session, cluster_id: int, names: Iterable[str]) -> dict[str, str]:
    """Each name as the scheduler has it: ``n12.example.com`` is ``n12`` where that is a node."""
    first = {name: name.partition(".")[0] for name in names}
    known = set(find_node_keys(session, cluster_id, {name for name in first.values() if name}))
    return {name: short if short in known else name for name, short in first.items()}


class PartRow(NamedTuple):
    """A part in a node, by the node's key, from the first to the last time it was seen there."""

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


def list_nodes_of_moved_parts(session: Session, of: Sequence[int]) -> list[int]:
    """The nodes of these clusters that hold or held what several of them held.

    Parts that many nodes claim are left out: their number is one that firmware made up.
    """
    inside = and_(true(), *filter_by_clusters(session, of))
    first, last = func.min(PartSighting.node_id), func.max(PartSighting.node_id)
    moved = (
        select(PartSighting.kind, PartSighting.identity)
        .where(inside)
        .group_by(PartSighting.kind, PartSighting.identity)
        .having(first < last, func.count() <= MOST_NODES)
        .subquery()
    )
    same = and_(PartSighting.kind == moved.c.kind, PartSighting.identity == moved.c.identity)
    return sorted(session.scalars(select(PartSighting.node_id).join(moved, same).distinct()))


def list_part_rows(session: Session, nodes: Sequence[int], until: datetime) -> list[PartRow]:
    """All parts of these nodes that were there before ``until``."""
    found: list[PartRow] = []
    for start in range(0, len(nodes), CHUNK):
        rows = select(*COLUMNS).where(
            PartSighting.first_at < until,
            PartSighting.node_id.in_(nodes[start : start + CHUNK]),
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


def filter_by_clusters(session: Session, of: Sequence[int]) -> Iterator[ColumnElement[bool]]:
    """Nothing where it is all of them: a join over a whole fleet takes longer than the rest."""
    if session.scalar(select(Cluster.id).where(Cluster.id.not_in(of)).limit(1)) is not None:
        yield PartSighting.node_id.in_(select(Node.id).where(Node.cluster_id.in_(of)))
