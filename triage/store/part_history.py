"""The parts of a node, and where else each was: before it came, and since it left."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from models import Cluster, Incident, Job, Node, PartSighting, Suspect
from triage.analysis.facts.part import list_named_parts
from triage.domain.batched import split_into_batches
from triage.domain.category import Role
from triage.domain.hardware import HardwareKind
from triage.domain.wire import Time, format_iso_utc
from triage.store.jobs import in_cluster

_MOST_PARTS: Final = 200
# A part that more nodes claim is none: firmware made its number up.
_MOST_ELSEWHERE: Final = 16
_MOST_INCIDENTS: Final = 500
_AT_ONCE: Final = 100
# Files come behind the failure that they are about.
_BEFORE: Final = timedelta(days=1)


class PartElsewhere(TypedDict):
    """A stay of the part in another node, and how many incidents there named its slot."""

    node: str
    slot: str
    first_at: Time | None
    last_at: Time | None
    incidents: int


class NodePart(TypedDict):
    """A part that was in the node, from the first to the last time that anything said so."""

    kind: str
    identity: str
    slot: str
    first_at: Time | None
    last_at: Time | None
    elsewhere: list[PartElsewhere]


def list_parts_of_node(session: Session, name: str, cluster: str | None = None) -> list[NodePart]:
    """The parts of a node, by kind and slot, the newest first; of this cluster where it is named.

    An incident elsewhere counts while the part was there, as far as anybody saw.
    """
    here = (*in_cluster(cluster), Node.name == name)
    mine = _list_stays(session, *here, limit=_MOST_PARTS)
    others: dict[tuple[str, str], list[tuple[PartSighting, str]]] = {}
    for kind in {stay.kind for stay, _ in mine}:
        identities = sorted({stay.identity for stay, _ in mine if stay.kind == kind})
        for part in split_into_batches(identities, _AT_ONCE):
            wanted = PartSighting.identity.in_(part)
            elsewhere = (
                *in_cluster(cluster),
                PartSighting.kind == kind,
                wanted,
                Node.name != name,
            )
            limit = _AT_ONCE * _MOST_ELSEWHERE
            for stay, node in _list_stays(session, *elsewhere, limit=limit):
                others.setdefault((stay.kind, stay.identity), []).append((stay, node))
    others = {part: found for part, found in others.items() if len(found) <= _MOST_ELSEWHERE}
    firsts: dict[tuple[str, str], list[datetime]] = {}
    for stay, _ in (*mine, *(row for found in others.values() for row in found)):
        firsts.setdefault((stay.kind, stay.identity), []).append(stay.first_at)
    named = _find_named_parts(
        session, {node for found in others.values() for _, node in found}, cluster
    )
    return [
        {
            "kind": stay.kind,
            "identity": stay.identity,
            "slot": stay.slot,
            "first_at": format_iso_utc(stay.first_at),
            "last_at": format_iso_utc(stay.last_at),
            "elsewhere": [
                {
                    "node": node,
                    "slot": other.slot,
                    "first_at": format_iso_utc(other.first_at),
                    "last_at": format_iso_utc(other.last_at),
                    "incidents": _count_times(other, node, firsts, named),
                }
                for other, node in others.get((stay.kind, stay.identity), ())
            ],
        }
        for stay, _ in sorted(mine, key=lambda row: _order(row[0]))
    ]


def _order(stay: PartSighting) -> tuple[Any, ...]:
    return list(HardwareKind).index(HardwareKind(stay.kind)), stay.slot, -stay.last_at.timestamp()


def _list_stays(
    session: Session, *where: ColumnElement[bool], limit: int
) -> list[tuple[PartSighting, str]]:
    rows = session.execute(
        select(PartSighting, Node.name)
        .join(Node, PartSighting.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(*where, PartSighting.kind.in_(list(HardwareKind)))
        .order_by(PartSighting.last_at.desc(), PartSighting.id.desc())
        .limit(limit)
    )
    return [(stay, str(node)) for stay, node in rows]


_Named = Mapping[tuple[str, str], Sequence[datetime]]


def _find_named_parts(session: Session, nodes: Iterable[str], cluster: str | None) -> _Named:
    """When incidents named a part of these nodes: (node, ``GPU 0000:5d:00``) to times."""
    found: dict[tuple[str, str], list[datetime]] = {}
    for node in sorted(nodes):
        rows = session.execute(
            select(Incident.created_at, Suspect.row)
            .join(Suspect, Suspect.incident_id == Incident.id)
            .join(Job, Incident.job_fk == Job.id)
            .join(Cluster, Job.cluster_id == Cluster.id)
            .where(Suspect.node == node, Suspect.role.in_((Role.CULPRIT, Role.POSSIBLE)))
            .where(*in_cluster(cluster))
            .order_by(Incident.id.desc())
            .limit(_MOST_INCIDENTS)
        )
        for at, row in rows:
            part = list_named_parts(row or {}).first
            if part is not None:
                found.setdefault((node, part), []).append(at)
    return found


def _count_times(
    stay: PartSighting,
    node: str,
    firsts: Mapping[tuple[str, str], Sequence[datetime]],
    named: _Named,
) -> int:
    """How many incidents named the slot while the part was in it, as far as anybody saw."""
    if not stay.slot:
        return 0
    word = f"{'NIC' if stay.kind == HardwareKind.NIC else 'GPU'} {stay.slot}"
    later = firsts[stay.kind, stay.identity]
    gone = min((at for at in later if at > stay.last_at), default=None)
    return sum(
        stay.first_at - _BEFORE <= at and (gone is None or at < gone)
        for at in named.get((node, word), ())
    )
