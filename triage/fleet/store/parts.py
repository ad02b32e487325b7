"""Parts in nodes: what was seen is kept as stays, each once, whichever source tells it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from models import Artifact, Node, PartSighting, Upload
from triage.fleet.record.hardware.stays import Sighting, Stay, stays_with
from triage.fleet.store.merged_rows import Tally
from triage.store.database.upsert import insert_new
from triage.store.jobs import node_keys
from triage.store.uploads.evidence import Reading

__all__ = ["Origin", "PartKey", "keep_sightings", "origins", "short_names"]

CHUNK: Final = 500
STORED: Final = ("node_id", "slot", "first_at", "last_at", "source", "key_id", "id")


class PartKey(NamedTuple):
    """A part: its kind, and the identity that its maker gave it."""

    kind: str
    identity: str


def keep_sightings(
    session: Session, cluster_id: int, seen: Iterable[tuple[PartKey, Sighting]]
) -> Tally:
    """Keep what was seen in nodes of one cluster; other clusters' stays are not looked at."""
    wanted: dict[PartKey, list[Sighting]] = {}
    num_seen = 0
    for key, sighting in seen:
        num_seen += 1
        wanted.setdefault(key, []).append(sighting)
    keys = sorted(wanted)
    added = changed = 0
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        stored = stored_stays(session, cluster_id, part)
        after = {key: stays_with(stored.get(key, ()), wanted[key]) for key in part}
        tally = write(session, stored, after)
        added, changed = added + tally.added, changed + tally.changed
    return Tally(added, changed, max(num_seen - added - changed, 0))


def stored_stays(
    session: Session, cluster_id: int, keys: Sequence[PartKey]
) -> dict[PartKey, list[Stay]]:
    """The stays of these parts in this cluster, locked until the session ends."""
    query = (
        select(PartSighting.identity, *(getattr(PartSighting, name) for name in STORED))
        .join(Node, PartSighting.node_id == Node.id)
        .where(Node.cluster_id == cluster_id)
        .order_by(PartSighting.id)
        .with_for_update(of=PartSighting)
    )
    found: dict[PartKey, list[Stay]] = {}
    for kind in sorted({key.kind for key in keys}):
        identities = [key.identity for key in keys if key.kind == kind]
        mine = query.where(PartSighting.kind == kind, PartSighting.identity.in_(identities))
        for identity, *values in session.execute(mine):
            found.setdefault(PartKey(kind, identity), []).append(Stay(*values))
    return found


def write(
    session: Session, before: dict[PartKey, list[Stay]], after: dict[PartKey, list[Stay]]
) -> Tally:
    """The difference as rows: gone, changed and new ones, in an order that no two sessions turn."""
    new: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    gone: list[int] = []
    for key, stays in after.items():
        old = {one.row: one for one in before.get(key, ())}
        kept = {one.row for one in stays if one.row is not None}
        gone += [row for row in old if row is not None and row not in kept]
        for stay in stays:
            if stay.row is None:
                new.append({**key._asdict(), **columns(stay)})
            elif stay != old[stay.row]:
                changes.append({"id": stay.row, **columns(stay)})
    if gone:
        session.execute(delete(PartSighting).where(PartSighting.id.in_(sorted(gone))))
    if changes:
        session.execute(update(PartSighting), sorted(changes, key=lambda row: row["id"]))
    return Tally(insert_new(session, PartSighting, new), len(changes), 0)


def columns(stay: Stay) -> dict[str, Any]:
    return {
        "node_id": stay.node,
        "slot": stay.slot,
        "first_at": stay.first_at,
        "last_at": stay.last_at,
        "source": stay.source,
        "key_id": stay.key_id,
    }


class Origin(NamedTuple):
    """The node that sent a file, the token that it came with, and when it came."""

    node: str | None
    key_id: str | None
    at: datetime


def origins(session: Session, readings: Sequence[Reading]) -> list[tuple[Origin, Reading]]:
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


def short_names(session: Session, cluster_id: int, names: Iterable[str]) -> dict[str, str]:
    """Each name as the scheduler has it: ``n12.example.com`` is ``n12`` where that is a node."""
    first = {name: name.partition(".")[0] for name in names}
    known = set(node_keys(session, cluster_id, {name for name in first.values() if name}))
    return {name: short if short in known else name for name, short in first.items()}
