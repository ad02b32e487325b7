"""Parts in nodes: kept as the rows of a file are stored, and told to people and to records.

A file is read once, and so are the parts in it. What a node sends tells of its own parts alone.
A file that names more GPUs of one node than a node holds speaks of other nodes too, and is left
out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
from triage.fleet.store.exposure import Sighting, keep_sightings
from triage.fleet.store.parts import (
    PartStayView,
    list_part_stays,
    list_reading_origins,
    map_short_names,
)
from triage.services.context import Context
from triage.store import jobs
from triage.store.uploads.evidence import Reading

# NVIDIA's largest node has 16 GPUs, a rack that is one system 72.
_MOST_GPUS: Final = 72
_MOST_PARTS: Final = 400
# A clock that is ahead of ours by more is wrong, and so is what it says.
_AHEAD: Final = timedelta(days=1)
_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
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
    for origin, reading in list_reading_origins(session, telling):
        parts = list(_iterate_parts(reading.rows, origin.node, min(origin.at, now)))
        found += [(origin.key_id, mine) for mine in _group_by_node(parts)]
    names = map_short_names(session, cluster_id, {seen[0] for _, mine in found for seen in mine})
    jobs.note_nodes_seen(session, cluster_id, set(names.values()), now)
    keys = jobs.find_node_keys(session, cluster_id, set(names.values()))
    keep_sightings(
        session,
        [
            Sighting(
                part.kind, part.identity, keys[names[node]], part.slot, at, at, "incident", key_id
            )
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
            if kind not in _KINDS or not named or not _may_tell_of(str(named), node):
                continue
            part = make_part_identity(
                HardwareKind(kind), str(told.get("identity")), str(told.get("slot") or "")
            )
            if part is not None:
                yield str(named), part, at


def _may_tell_of(named: str, sender: str | None) -> bool:
    """Whether the node that sent a file may tell of this one: of itself, where it is known."""
    return sender is None or named.partition(".")[0] == sender.partition(".")[0]


def _group_by_node(parts: Sequence[_Seen]) -> list[list[_Seen]]:
    """The parts of each node, but for nodes that seem to hold those of others."""
    nodes: dict[str, list[_Seen]] = {}
    for one in parts:
        nodes.setdefault(one[0], []).append(one)
    kept = []
    for mine in nodes.values():
        different = {(part.kind, part.identity) for _, part, _ in mine}
        gpus = {one for one in different if one[0] == HardwareKind.GPU}
        if len(gpus) <= _MOST_GPUS and len(different) <= _MOST_PARTS:
            kept.append(mine)
    return kept


def _choose_time(row: Mapping[str, Any], now: datetime) -> datetime:
    """When a row was printed; where it says no time, or one that cannot be, ``now``."""
    text = row.get("at")
    try:
        at = datetime.fromisoformat(text).astimezone(UTC) if isinstance(text, str) else now
    except (ValueError, OverflowError):
        at = now
    return (at if _FIRST <= at <= now + _AHEAD else now).replace(microsecond=0)


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
    spelt = None if identity is None else _list_spellings(identity)
    if spelt is not None and not spelt:
        raise _make_refusal("identity", "this is no UUID, serial number or GUID of a part")
    with ctx.database.reading() as session:
        found = list_part_stays(
            session, identities=spelt, node=node, cluster=cluster, limit=limit + 1
        )
    return HardwareAnswer(identity, node, tuple(found[:limit]), len(found) > limit)


def _list_spellings(text: str) -> list[str]:
    """As each kind of part would have it; none for a placeholder."""
    return sorted(
        {one for kind in HardwareKind if (one := normalize_identity(kind, text)) is not None}
    )


def _make_refusal(name: str, why: str) -> Unprocessable:
    return Unprocessable(
        why,
        hint="give identity=GPU-..., a serial number or a GUID; or node=NAME",
        places=(Place(f"query/{name}", why),),
    )
