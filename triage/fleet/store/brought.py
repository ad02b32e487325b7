"""What a token has brought to the record of the fleet, and its removal."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Text, delete, func, select, type_coerce, update
from sqlalchemy.orm import Session

from models import HealthCheck, Outage, PartSighting, Run, TelemetryDay, TelemetryPack
from triage.fleet.store.checks import BROUGHT_BY, Entry, build_check_row

_DAY_S: Final = 86_400
_AT_ONCE: Final = 400


def _filter_runs(key_id: str, since: datetime | None) -> list[ColumnElement[bool]]:
    return [Run.key_id == key_id, *([] if since is None else [Run.seen_at >= since])]


def _filter_outages(key_id: str, since: datetime | None) -> list[ColumnElement[bool]]:
    return [Outage.key_id == key_id, *([] if since is None else [Outage.from_at >= since])]


def _filter_parts(key_id: str, since: datetime | None) -> list[ColumnElement[bool]]:
    first = [] if since is None else [PartSighting.first_at >= since]
    return [PartSighting.key_id == key_id, *first]


def _filter_days(key_id: str, since: datetime | None) -> list[ColumnElement[bool]]:
    first = [] if since is None else [TelemetryDay.day >= int(since.timestamp() // _DAY_S)]
    return [TelemetryDay.key_id == key_id, *first]


def count_brought(session: Session, key_id: str, since: datetime | None) -> dict[str, int]:
    """How many runs, outages, parts, results of checks and days of telemetry, of that time."""

    def count(query: Select[Any]) -> int:
        return session.scalar(select(func.count()).select_from(query.subquery())) or 0

    return {
        "runs": count(select(Run.id).where(*_filter_runs(key_id, since))),
        "outages": count(select(Outage.id).where(*_filter_outages(key_id, since))),
        "parts": count(select(PartSighting.id).where(*_filter_parts(key_id, since))),
        "checks": sum(len(mine) for _, _, mine in iterate_brought_checks(session, key_id, since)),
        "telemetry_days": count(select(TelemetryDay.id).where(*_filter_days(key_id, since))),
    }


def iterate_brought_checks(
    session: Session, key_id: str, since: datetime | None
) -> Iterator[tuple[HealthCheck, list[Entry], list[Entry]]]:
    """(row, its other results, those that the token brought) of checks that it told of."""
    naming = type_coerce(HealthCheck.history, Text).contains(key_id, autoescape=True)
    for row in session.scalars(select(HealthCheck).where(naming).order_by(HealthCheck.id)):
        mine = [entry for entry in row.history if _build_key_condition(entry, key_id, since)]
        if mine:
            yield row, [entry for entry in row.history if entry not in mine], mine


def _build_key_condition(entry: Entry, key_id: str, since: datetime | None) -> bool:
    brought = entry[BROUGHT_BY] if len(entry) > BROUGHT_BY else None
    return brought == key_id and (since is None or datetime.fromisoformat(entry[0]) >= since)


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
    session.execute(delete(Run).where(*_filter_runs(key_id, since)))
    session.execute(delete(Outage).where(*_filter_outages(key_id, since)))
    session.execute(delete(PartSighting).where(*_filter_parts(key_id, since)))
    ids = session.scalars(select(TelemetryDay.id).where(*_filter_days(key_id, since))).all()
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        session.execute(delete(TelemetryPack).where(TelemetryPack.day_id.in_(part)))
        session.execute(delete(TelemetryDay).where(TelemetryDay.id.in_(part)))
    return found
