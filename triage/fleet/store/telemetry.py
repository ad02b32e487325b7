"""Telemetry by node and day: numbers that reports sum up, and beside them the packed hours."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, or_, select, tuple_, update
from sqlalchemy.orm import Session

from models import Cluster, Node, TelemetryDay, TelemetryPack
from models.base import normalize_stored_name
from triage.fleet.store.clusters import filter_by_cluster
from triage.store.database.upsert import insert_missing, lock_rows

# Node and day: a node's name, and days since the epoch.
NodeDay = tuple[str, int]
_KEYS_AT_ONCE: Final = 400


class NodeSums(NamedTuple):
    """What the days of one node come to. ``num_days`` have telemetry."""

    node: str
    num_days: int
    throttled_minutes: float
    brake_minutes: float
    gpu_temp_max_c: float | None
    inlet_mean_c: float | None
    ecc_growth: float
    ecc_corrected_growth: float
    remap_growth: float
    nvlink_growth: float
    ib_growth: float


COUNTERS: Final = (
    "link_recovery_growth", "ecc_corrected_growth", "ecc_growth", "remap_growth",
    "nvlink_growth", "ib_growth",
)  # fmt: skip
"""The columns of a day that hold by how much a counter grew."""

_NO_DAY: Final[Mapping[str, Any]] = {
    "num_samples": 0,
    **{name: 0.0 for name in NodeSums._fields if name.endswith(("_minutes", "_growth"))},
}
"""The columns of a day without a sample."""


@dataclass(frozen=True, slots=True)
class LockedDay:
    """A day of a node that nobody else writes now; ``cells`` is None for a new one."""

    id: int
    cells: bytes | None


def load_packs(
    session: Session, cluster_id: int, wanted: Sequence[NodeDay]
) -> dict[NodeDay, bytes]:
    """The packed hours of those days of nodes that are stored; names as they were given."""
    found: dict[NodeDay, bytes] = {}
    given = {(normalize_stored_name(node), day): (node, day) for node, day in wanted}
    keys = sorted(given)
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        rows = session.execute(
            select(TelemetryDay.node, TelemetryDay.day, TelemetryPack.cells)
            .join(TelemetryPack, TelemetryPack.day_id == TelemetryDay.id)
            .where(
                TelemetryDay.cluster_id == cluster_id,
                tuple_(TelemetryDay.node, TelemetryDay.day).in_(
                    keys[start : start + _KEYS_AT_ONCE]
                ),
            )
        )
        found |= {given[node, day]: cells for node, day, cells in rows}
    return found


def lock_days(
    session: Session, cluster_id: int, wanted: Sequence[NodeDay]
) -> dict[NodeDay, LockedDay]:
    """The rows of these days of nodes, made where they are missing, locked until the end.

    All writers lock in one order, which avoids a deadlock.
    """
    given = {(normalize_stored_name(node), day): (node, day) for node, day in wanted}
    keys = sorted(given)
    found: dict[NodeDay, LockedDay] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        part = keys[start : start + _KEYS_AT_ONCE]
        mine = tuple_(TelemetryDay.node, TelemetryDay.day).in_(part)
        there = select(TelemetryDay.node, TelemetryDay.day).where(
            TelemetryDay.cluster_id == cluster_id, mine
        )
        known = {(node, day) for node, day in session.execute(there)}
        new = [
            {"cluster_id": cluster_id, "node": node, "day": day, **_NO_DAY}
            for node, day in part
            if (node, day) not in known
        ]
        insert_missing(session, TelemetryDay, new)
        rows = lock_rows(
            session,
            select(TelemetryDay)
            .where(TelemetryDay.cluster_id == cluster_id, mine)
            .order_by(TelemetryDay.node, TelemetryDay.day),
        ).all()
        of_row = {row.id: given[row.node, row.day] for row in rows}
        packed = select(TelemetryPack.day_id, TelemetryPack.cells)
        cells = dict(session.execute(packed.where(TelemetryPack.day_id.in_(of_row))).all())
        found |= {key: LockedDay(row_id, cells.get(row_id)) for row_id, key in of_row.items()}
    return found


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
    known = [
        {"day_id": locked.id, "cells": data} for locked, _, data in rows if locked.cells is not None
    ]
    new = [{"day_id": locked.id, "cells": data} for locked, _, data in rows if locked.cells is None]
    if known:
        session.execute(update(TelemetryPack), known)
    if new:
        session.execute(insert(TelemetryPack), new)


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
) -> list[NodeSums]:
    """Each node's days from ``since_day`` until before ``until_day``, by name; or one node's.

    Nodes of one name in several clusters are added up where no cluster is given.
    """
    day = TelemetryDay
    growth = (getattr(day, name) for name in NodeSums._fields if name.endswith("_growth"))
    query = (
        select(
            day.node,
            func.count(day.day.distinct()),
            func.sum(day.throttled_minutes),
            func.sum(day.brake_minutes),
            func.max(day.gpu_temp_max_c),
            func.avg(day.inlet_mean_c),
            *map(func.sum, growth),
        )
        .where(day.day >= since_day, day.day < until_day, day.node != "")
        .group_by(day.node)
        .order_by(day.node)
    )
    if node is not None:
        query = query.where(day.node == normalize_stored_name(node))
    rows = session.execute(filter_by_cluster(query, day.cluster_id, cluster))
    return [NodeSums._make(row) for row in rows]


def list_grown_days(
    session: Session, since_day: int, until_day: int, *, cluster: str | None = None
) -> Sequence[tuple[Any, ...]]:
    """Node, day and growth, in the order of ``COUNTERS``, of days on which any counter grew."""
    columns = [getattr(TelemetryDay, name) for name in COUNTERS]
    query = (
        select(TelemetryDay.node, TelemetryDay.day, *(func.coalesce(one, 0.0) for one in columns))
        .where(TelemetryDay.day >= since_day, TelemetryDay.day < until_day)
        .where(TelemetryDay.node != "", or_(*(one > 0 for one in columns)))
        .order_by(TelemetryDay.node, TelemetryDay.day)
    )
    if cluster is not None:
        query = query.join(Cluster, TelemetryDay.cluster_id == Cluster.id)
        query = query.where(Cluster.name == cluster)
    return [tuple(row) for row in session.execute(query)]


def list_seen_days(
    session: Session, since_day: int, until_day: int, *, cluster: str | None = None
) -> list[tuple[str, int, int]]:
    """Node, first and last day with telemetry."""
    day = TelemetryDay
    query = (
        select(day.node, func.min(day.day), func.max(day.day))
        .where(day.day >= since_day, day.day < until_day, day.node != "")
        .group_by(day.node)
        .order_by(day.node)
    )
    rows = session.execute(filter_by_cluster(query, day.cluster_id, cluster))
    return [(node, first, last) for node, first, last in rows]


def list_inlets(
    session: Session, since_day: int, until_day: int, *, cluster: str | None = None
) -> list[tuple[str, int, float, int]]:
    """(rack, day, mean inlet temperature in C over its nodes, how many nodes) by rack and day."""
    day = TelemetryDay
    query = (
        select(Node.rack, day.day, func.avg(day.inlet_mean_c), func.count())
        .join(Node, (Node.cluster_id == day.cluster_id) & (Node.name == day.node))
        .where(day.day >= since_day, day.day < until_day)
        .where(day.inlet_mean_c.is_not(None), Node.rack.is_not(None))
        .group_by(Node.rack, day.day)
        .order_by(Node.rack, day.day)
    )
    rows = session.execute(filter_by_cluster(query, day.cluster_id, cluster))
    return [
        (rack, number, float(mean), count)
        for rack, number, mean, count in rows
        if rack is not None and mean is not None
    ]


def list_hours_since(
    session: Session, since_day: int, until_day: int, *, cluster: str | None = None
) -> list[tuple[int, bytes]]:
    """(day, hours) of all nodes that have step time or inlet temperature."""
    day = TelemetryDay
    query = (
        select(day.day, day.hours)
        .where(day.day >= since_day, day.day < until_day, day.hours.is_not(None))
        .order_by(day.day, day.id)
    )
    rows = session.execute(filter_by_cluster(query, day.cluster_id, cluster))
    return [(number, data) for number, data in rows if data is not None]


def drop_before(session: Session, at: datetime, limit: int = 5_000) -> int:
    """Remove days that ended before ``at``, at most ``limit``; how many were removed."""
    day = int(at.timestamp() // 86_400)
    old = select(TelemetryDay.id).where(TelemetryDay.day < day).limit(limit)
    ids = session.scalars(old).all()
    for start in range(0, len(ids), _KEYS_AT_ONCE):
        part = ids[start : start + _KEYS_AT_ONCE]
        session.execute(delete(TelemetryPack).where(TelemetryPack.day_id.in_(part)))
        session.execute(delete(TelemetryDay).where(TelemetryDay.id.in_(part)))
    return len(ids)
