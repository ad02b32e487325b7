"""Parts in nodes: kept as the rows of a file are stored, and told to people.

A file is read once, and so are the parts in it. What a node sends tells of its own parts alone.
A file that names more GPUs of one node than a node holds speaks of other nodes too, and is left
out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.domain.hardware import (
    HardwareKind,
    PartIdentity,
    make_part_identity,
    normalize_identity,
)
from triage.domain.wire import WireForm
from triage.errors import Place, Unprocessable
from triage.fleet.domain.exposure import AHEAD, FIRST, MOST_GPUS_OF_NODE
from triage.fleet.store.exposure import (
    PartStayView,
    keep_sightings,
    list_part_stays,
    list_reading_origins,
    map_short_names,
)
from triage.services.context import Context
from triage.store import jobs
from triage.store.uploads.evidence import Reading

_MOST_PARTS: Final = 400
_KINDS: Final = frozenset(str(kind) for kind in HardwareKind)

_Seen = tuple[str, PartIdentity, datetime]


def keep_seen_parts(
    session: Session, cluster_id: int, readings: Sequence[Reading], now: datetime
) -> None:
    """Keep the parts in these readings, of nodes of one cluster.

    A row without a time was seen when its file came. A row without a node is of the node that
    sent the file, and is left out where nobody says which.
    """
    telling = [one for one in readings if any(row.get("parts") for row in one.rows)]
    if not telling:
        return
    found: list[tuple[str | None, list[_Seen]]] = []
    for sender, key_id, at, reading in list_reading_origins(session, telling):
        parts = list(_iterate_parts(reading.rows, sender, min(at, now)))
        found += [(key_id, mine) for mine in _group_by_node(parts)]
    names = map_short_names(session, cluster_id, {seen[0] for _, mine in found for seen in mine})
    jobs.note_nodes_seen(session, cluster_id, set(names.values()), now)
    keys = jobs.find_node_keys(session, cluster_id, set(names.values()))
    keep_sightings(
        session,
        [
            {
                "kind": part.kind,
                "identity": part.identity,
                "node_id": keys[names[node]],
                "slot": part.slot,
                "first_at": at,
                "last_at": at,
                "source": "incident",
                "key_id": key_id,
            }
            for key_id, mine in found
            for node, part, at in mine
        ],
    )


def _iterate_parts(
    rows: Sequence[Mapping[str, Any]], node: str | None, now: datetime
) -> Iterator[_Seen]:
    """(node, part, time) of each part that rows name, as far as a node is known."""
    for row in rows:
        at = _choose_time(row, now)
        for told in row.get("parts") or ():
            kind = str(told.get("kind"))
            named = told.get("node") or row.get("node") or node
            if kind not in _KINDS or not named:
                continue
            # Of itself alone a node may tell, where it is known who sent the file.
            if node is not None and str(named).partition(".")[0] != node.partition(".")[0]:
                continue
            part = make_part_identity(
                HardwareKind(kind), str(told.get("identity")), str(told.get("slot") or "")
            )
            if part is not None:
                yield str(named), part, at


def _group_by_node(parts: Sequence[_Seen]) -> list[list[_Seen]]:
    """The parts of each node, but for nodes that seem to hold those of others."""
    nodes: dict[str, list[_Seen]] = {}
    for one in parts:
        nodes.setdefault(one[0], []).append(one)
    kept = []
    for mine in nodes.values():
        different = {(part.kind, part.identity) for _, part, _ in mine}
        gpus = {one for one in different if one[0] == HardwareKind.GPU}
        if len(gpus) <= MOST_GPUS_OF_NODE and len(different) <= _MOST_PARTS:
            kept.append(mine)
    return kept


def _choose_time(row: Mapping[str, Any], now: datetime) -> datetime:
    """When a row was printed; where it says no time, or one that cannot be, ``now``."""
    text = row.get("at")
    try:
        at = datetime.fromisoformat(text).astimezone(UTC) if isinstance(text, str) else now
    except (ValueError, OverflowError):
        at = now
    return (at if FIRST <= at <= now + AHEAD else now).replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class HardwareAnswer(WireForm):
    """The stays of a part, or of all parts of a node; ``more`` where not all are listed."""

    identity: str | None
    node: str | None
    stays: tuple[PartStayView, ...]
    more: bool


def answer_hardware(
    ctx: Context,
    *,
    identity: str | None = None,
    node: str | None = None,
    cluster: str | None = None,
    limit: int = 50,
) -> HardwareAnswer:
    """The stays of the parts with this identity, in any of its spellings, or of a node's parts.

    Raises :class:`Unprocessable` where neither is named, and for a text that is no identity.
    """
    if identity is None and node is None:
        raise _make_refusal("identity", "name a part or a node")
    spelt = None
    if identity is not None:  # as each kind of part would have it; none for a placeholder
        spellings = {normalize_identity(kind, identity) for kind in HardwareKind}
        spelt = sorted(filter(None, spellings))
    if spelt == []:
        raise _make_refusal("identity", "this is no UUID, serial number or GUID of a part")
    with ctx.database.reading() as session:
        found = list_part_stays(
            session, identities=spelt, node=node, cluster=cluster, limit=limit + 1
        )
    return HardwareAnswer(identity, node, tuple(found[:limit]), len(found) > limit)


def _make_refusal(name: str, why: str) -> Unprocessable:
    return Unprocessable(
        why,
        hint="give identity=GPU-..., a serial number or a GUID; or node=NAME",
        places=(Place(f"query/{name}", why),),
    )
