"""Parts that the files of an incident name become stays, as their rows are stored.

A file is read once, and so are the parts in it. What a node sends tells of its own parts alone.
A file that names more GPUs of one node than a node holds speaks of other nodes too, and is left
out.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.domain.hardware import HardwareKind, part_identity
from triage.fleet.record.hardware.stays import Sighting
from triage.fleet.store.parts import PartKey, keep_sightings, origins, short_names
from triage.store import jobs
from triage.store.uploads.evidence import Reading

__all__ = ["saw_parts"]

# NVIDIA's largest node has 16 GPUs, a rack that is one system 72.
MOST_GPUS: Final = 72
MOST_PARTS: Final = 400
# A clock that is ahead of ours by more is wrong, and so is what it says.
AHEAD: Final = timedelta(days=1)
FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
KINDS: Final = frozenset(str(kind) for kind in HardwareKind)

Seen = tuple[str, PartKey, str, datetime]


def saw_parts(
    session: Session, cluster_id: int, readings: Sequence[Reading], now: datetime
) -> None:
    """Keep the parts in these readings, of nodes of one cluster.

    A row without a time was seen when its file came. A row without a node is of the node that
    sent the file, and is left out where nobody says which.
    """
    telling = [one for one in readings if any(row.get("parts") for row in one.rows)]
    if not telling:
        return
    found: list[tuple[str | None, list[Seen]]] = []
    for origin, reading in origins(session, telling):
        parts = list(parts_in(reading.rows, origin.node, min(origin.at, now)))
        found += [(origin.key_id, mine) for mine in by_node(parts)]
    names = short_names(session, cluster_id, {seen[0] for _, mine in found for seen in mine})
    jobs.saw_nodes(session, cluster_id, set(names.values()), now)
    keys = jobs.node_keys(session, cluster_id, set(names.values()))
    keep_sightings(
        session,
        cluster_id,
        [
            (key, Sighting(keys[names[node]], slot, at, at, "incident", key_id))
            for key_id, mine in found
            for node, key, slot, at in mine
        ],
    )


def parts_in(rows: Sequence[Mapping[str, Any]], node: str | None, now: datetime) -> Iterator[Seen]:
    """(node, part, slot, time) of each part that rows name, as far as a node is known."""
    for row in rows:
        at = time_of(row, now)
        for told in row.get("parts") or ():
            kind = str(told.get("kind"))
            named = told.get("node") or row.get("node") or node
            if kind not in KINDS or not named or not is_of(str(named), node):
                continue
            part = part_identity(
                HardwareKind(kind), str(told.get("identity")), str(told.get("slot") or "")
            )
            if part is not None:
                yield str(named), PartKey(part.kind, part.identity), part.slot, at


def is_of(named: str, sender: str | None) -> bool:
    """Whether the node that sent a file may tell of this one: of itself, where it is known."""
    return sender is None or named.partition(".")[0] == sender.partition(".")[0]


def by_node(parts: Sequence[Seen]) -> list[list[Seen]]:
    """The parts of each node, but for nodes that seem to hold those of others."""
    nodes: dict[str, list[Seen]] = {}
    for one in parts:
        nodes.setdefault(one[0], []).append(one)
    kept = []
    for mine in nodes.values():
        different = {one[1] for one in mine}
        gpus = {one for one in different if one.kind == HardwareKind.GPU}
        if len(gpus) <= MOST_GPUS and len(different) <= MOST_PARTS:
            kept.append(mine)
    return kept


def time_of(row: Mapping[str, Any], now: datetime) -> datetime:
    """When a row was printed; where it says no time, or one that cannot be, ``now``."""
    text = row.get("at")
    try:
        at = datetime.fromisoformat(text).astimezone(UTC) if isinstance(text, str) else now
    except (ValueError, OverflowError):
        at = now
    return (at if FIRST <= at <= now + AHEAD else now).replace(microsecond=0)
