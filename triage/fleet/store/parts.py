"""Parts by the identity of their maker: in which nodes each was seen, first and last."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Artifact, Cluster, Node, PartSighting, Upload
from triage.domain.hardware import HardwareKind
from triage.domain.wire import SentAs, WireForm
from triage.store.jobs import find_node_keys
from triage.store.uploads.evidence import Reading

_CHUNK: Final = 500


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
