"""What a token has brought to the record of the fleet, and its removal."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Text, delete, func, select, type_coerce, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import HealthCheck, Outage, PartSighting, Run, TelemetryDay
from models.base import Base
from triage.fleet.store.checks import BROUGHT_BY, Entry, build_check_row
from triage.fleet.store.telemetry import drop_days

_DAY_S: Final = 86_400
_KEY: Final = "key_id"


_KINDS: Final[Mapping[str, tuple[type[Base], InstrumentedAttribute[Any]]]] = {
    "runs": (Run, Run.seen_at),
    "outages": (Outage, Outage.from_at),
    "parts": (PartSighting, PartSighting.first_at),
    "telemetry_days": (TelemetryDay, TelemetryDay.day),
}
"""What a token brings, and the column that says of which time it is."""


def _build_condition(kind: str, key_id: str, since: datetime | None) -> ColumnElement[bool]:
    model, column = _KINDS[kind]
    mine: ColumnElement[bool] = getattr(model, _KEY) == key_id
    if since is None:
        return mine
    first = int(since.timestamp() // _DAY_S) if kind == "telemetry_days" else since
    return mine & (column >= first)


def count_brought(session: Session, key_id: str, since: datetime | None) -> dict[str, int]:
    """How many runs, outages, parts, results of checks and days of telemetry, of that time."""
    found = {
        kind: session.scalar(
            select(func.count()).select_from(model).where(_build_condition(kind, key_id, since))
        )
        or 0
        for kind, (model, _) in _KINDS.items()
    }
    checks = sum(len(mine) for _, _, mine in iterate_brought_checks(session, key_id, since))
    days = found.pop("telemetry_days")
    return {**found, "checks": checks, "telemetry_days": days}


def iterate_brought_checks(
    session: Session, key_id: str, since: datetime | None
) -> Iterator[tuple[HealthCheck, list[Entry], list[Entry]]]:
    """(row, its other results, those that the token brought) of checks that it told of."""
    naming = type_coerce(HealthCheck.history, Text).contains(key_id, autoescape=True)
    for row in session.scalars(select(HealthCheck).where(naming).order_by(HealthCheck.id)):
        mine = [
            entry
            for entry in row.history
            if entry[BROUGHT_BY:] == [key_id]
            and (since is None or datetime.fromisoformat(entry[0]) >= since)
        ]
        if mine:
            yield row, [entry for entry in row.history if entry not in mine], mine


def withdraw(session: Session, key_id: str, since: datetime | None) -> dict[str, int]:
    """Remove what a token brought, of that time; how many of each kind.

    A check goes back to its newest result that another one brought.
    """
    found = count_brought(session, key_id, since)
    for row, others, _ in list(iterate_brought_checks(session, key_id, since)):
        if others:
            values = build_check_row(row.cluster_id, (row.node, row.check, row.part), others)
            last = others[0][BROUGHT_BY] if len(others[0]) > BROUGHT_BY else None
            values["key_id"] = last
            session.execute(update(HealthCheck).where(HealthCheck.id == row.id).values(**values))
        else:
            session.execute(delete(HealthCheck).where(HealthCheck.id == row.id))
    for kind in ("runs", "outages", "parts"):
        session.execute(delete(_KINDS[kind][0]).where(_build_condition(kind, key_id, since)))
    condition = _build_condition("telemetry_days", key_id, since)
    drop_days(session, select(TelemetryDay.id).where(condition))
    return found
