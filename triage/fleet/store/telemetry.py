"""Telemetry by node and day: numbers that reports sum up, and beside them the packed hours."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, delete, func, insert, select, tuple_, update
from sqlalchemy.orm import Session

from models import Node, TelemetryDay, TelemetryPack
from models.base import normalize_stored_name
from triage.domain.batched import split_into_batches
from triage.fleet.store.record import filter_by_cluster
from triage.store.database.upsert import insert_missing, lock_rows

# Node and day: a node's name, and days since the epoch.
NodeDay = tuple[str, int]
_KEYS_AT_ONCE: Final = 400
_MOST_DROPPED: Final = 5_000


_COUNTERS: Final = (
    "link_recovery_growth", "ecc_corrected_growth", "ecc_growth", "remap_growth",
    "nvlink_growth", "ib_growth",
)  # fmt: skip
"""The columns of a day that hold by how much a counter grew."""

_NO_DAY: Final = {
    "num_samples": 0,
    "throttled_minutes": 0.0,
    "brake_minutes": 0.0,
    **dict.fromkeys(_COUNTERS, 0.0),
}
"""The columns of a day without a sample."""


@dataclass(frozen=True, slots=True)
class LockedDay:
    """A day of a node that nobody else writes now; ``cells`` is None for a new one."""

    id: int
    cells: bytes | None


def load_packs(
    session: Session, cluster_id: int, wanted: Iterable[NodeDay]
) -> dict[NodeDay, bytes]:
    """The packed hours of those days of nodes that are stored; names as they were given."""
    found: dict[NodeDay, bytes] = {}
    for given, among in _iterate_conditions(cluster_id, wanted):
        query = select(TelemetryDay.node, TelemetryDay.day, TelemetryPack.cells).where(among)
        packs = query.join(TelemetryPack, TelemetryPack.day_id == TelemetryDay.id)
        found |= {given[node, day]: cells for node, day, cells in session.execute(packs)}
    return found


def lock_days(
    session: Session, cluster_id: int, wanted: Iterable[NodeDay]
) -> dict[NodeDay, LockedDay]:
    """The rows of these days of nodes, made where they are missing, locked until the end.

    All writers lock in one order, which avoids a deadlock.
    """
    found: dict[NodeDay, LockedDay] = {}
    for given, among in _iterate_conditions(cluster_id, wanted):
        day = TelemetryDay
        known = set(session.execute(select(day.node, day.day).where(among)).all())
        insert_missing(
            session,
            day,
            [
                {"cluster_id": cluster_id, "node": node, "day": number, **_NO_DAY}
                for node, number in given
                if (node, number) not in known
            ],
        )
        rows = lock_rows(session, select(day).where(among).order_by(day.node, day.day))
        of_row = {row.id: given[row.node, row.day] for row in rows}
        packed = select(TelemetryPack.day_id, TelemetryPack.cells)
        cells = dict(session.execute(packed.where(TelemetryPack.day_id.in_(of_row))).all())
        found |= {key: LockedDay(row_id, cells.get(row_id)) for row_id, key in of_row.items()}
    return found


def _iterate_conditions(
    cluster_id: int, wanted: Iterable[NodeDay]
) -> Iterator[tuple[dict[NodeDay, NodeDay], ColumnElement[bool]]]:
    """Some days of nodes as they are stored, in order, and as they were given; and the condition
    that keeps their rows.
    """
    given = {(normalize_stored_name(node), day): (node, day) for node, day in wanted}
    for some in split_into_batches(sorted(given), _KEYS_AT_ONCE):
        among = tuple_(TelemetryDay.node, TelemetryDay.day).in_(some)
        yield {key: given[key] for key in some}, (TelemetryDay.cluster_id == cluster_id) & among


def store_days(
    session: Session,
    days: Iterable[tuple[LockedDay, Mapping[str, Any], bytes]],
    brought: Collection[int],
    key_id: str | None,
) -> None:
    """Write locked days: the columns of each, and its packed hours.

    Those of the ids ``brought`` are from the token ``key_id``.
    """
    rows = list(days)
    if not rows:
        return
    session.execute(update(TelemetryDay), [{"id": locked.id, **row} for locked, row, _ in rows])
    session.execute(update(TelemetryDay).where(TelemetryDay.id.in_(brought)).values(key_id=key_id))
    for is_new, change in ((False, update), (True, insert)):
        packs = [
            {"day_id": locked.id, "cells": data}
            for locked, _, data in rows
            if (locked.cells is None) is is_new
        ]
        if packs:
            session.execute(change(TelemetryPack), packs)


def set_racks(session: Session, cluster_id: int, racks: Mapping[str, str]) -> None:
    """Set the racks of nodes whose rack is not known yet."""
    for node, rack in sorted(racks.items()):
        session.execute(
            update(Node)
            .where(Node.cluster_id == cluster_id, Node.name == node, Node.rack.is_(None))
            .values(rack=rack)
        )


def list_node_sums(
    session: Session,
    since_day: int,
    until_day: int,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> dict[str, dict[str, float | None]]:
    """What the days of each node from ``since_day`` until before ``until_day`` come to, by name; or
    of one node: ``num_days`` with telemetry, and the columns of a day.

    Nodes of one name in several clusters are added up where no cluster is given.
    """
    day = TelemetryDay
    summed = ("throttled_minutes", "brake_minutes", *_COUNTERS)
    query = (
        select(
            day.node,
            func.count(day.day.distinct()).label("num_days"),
            func.max(day.gpu_temp_max_c).label("gpu_temp_max_c"),
            func.avg(day.inlet_mean_c).label("inlet_mean_c"),
            *(func.sum(getattr(day, name)).label(name) for name in summed),
        )
        .where(day.day >= since_day, day.day < until_day, day.node != "")
        .group_by(day.node)
        .order_by(day.node)
    )
    if node is not None:
        query = query.where(day.node == normalize_stored_name(node))
    rows = session.execute(filter_by_cluster(query, day.cluster_id, cluster)).mappings()
    return {row["node"]: {str(key): row[key] for key in row if key != "node"} for row in rows}


def drop_before(session: Session, at: datetime) -> int:
    """Remove days that ended before ``at``, some thousand at most; how many were removed."""
    condition = TelemetryDay.day < int(at.timestamp() // 86_400)
    return drop_days(session, select(TelemetryDay.id).where(condition).limit(_MOST_DROPPED))


def drop_days(session: Session, wanted: Select[int]) -> int:
    """Remove the days of these ids; how many were removed."""
    ids = session.scalars(wanted).all()
    for part in split_into_batches(ids, _KEYS_AT_ONCE):
        session.execute(delete(TelemetryPack).where(TelemetryPack.day_id.in_(part)))
        session.execute(delete(TelemetryDay).where(TelemetryDay.id.in_(part)))
    return len(ids)
