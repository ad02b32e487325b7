"""Digests and rows of evidence: what the artifacts of an incident came down to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

from sqlalchemy import Table, bindparam, delete, select, update
from sqlalchemy.orm import Session

from models import Digest, Evidence
from triage.domain.report import iso_utc

__all__ = [
    "Reading", "add_readings", "extracts_of", "of_artifact", "of_incident", "redate",
]  # fmt: skip

# Columns of the table; the rest of a row goes into `extra`.
COLUMNS: Final = (
    "artifact", "line", "at", "clock", "node", "rank", "kind", "code", "gpu", "category",
    "role", "signature", "text", "count",
)  # fmt: skip
NAMED: Final = frozenset(COLUMNS)
NUMBERS: Final = frozenset({"line", "rank", "code", "count"})
DIGESTS: Final = cast("Table", Digest.__table__)
ROWS: Final = cast("Table", Evidence.__table__)
PLACES: Final = (
    select(
        ROWS.c.id, ROWS.c.artifact, ROWS.c.line, ROWS.c.signature,
        ROWS.c.at, ROWS.c.node, ROWS.c.rank, ROWS.c.gpu,
    )
    .where(ROWS.c.incident_id == bindparam("of_incident"))
    .order_by(ROWS.c.id)
)  # fmt: skip
REPLACE: Final = (
    update(ROWS)
    .where(ROWS.c.id == bindparam("of_row"))
    .values({name: bindparam(name) for name in ("at", "node", "rank", "gpu")})
)
# Digests that are fetched at once.
PAGE: Final = 512
MAX_ROWS: Final = 20_000
MOST_INT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Reading:
    """What one artifact came down to: its packed extract, and rows of ``triage parse``."""

    artifact_id: str
    extract: bytes
    rows: Sequence[Mapping[str, Any]] = ()


def add_readings(session: Session, incident_id: str, readings: Sequence[Reading]) -> None:
    """Keep what was read; read again, it replaces what was there.

    Of more than 20,000 rows of one artifact only the first are kept for questions; the
    answer knows all of them.
    """
    ids = [one.artifact_id for one in readings]
    if not ids:
        return
    session.execute(
        delete(Digest).where(Digest.incident_id == incident_id, Digest.artifact_id.in_(ids))
    )
    session.execute(delete(Evidence).where(Evidence.artifact_id.in_(ids)))
    # By the tables, not the mapped classes: nothing is to be kept in the session.
    session.execute(
        DIGESTS.insert(),
        [
            {"incident_id": incident_id, "artifact_id": one.artifact_id, "extract": one.extract}
            for one in readings
        ],
    )
    rows = [row for one in readings for row in columns_of(incident_id, one)]
    if rows:
        session.execute(ROWS.insert(), rows)


def columns_of(incident_id: str, reading: Reading) -> Iterator[dict[str, Any]]:
    for ordinal, row in enumerate(reading.rows[:MAX_ROWS]):
        yield {
            "incident_id": incident_id,
            "artifact_id": reading.artifact_id,
            "ordinal": ordinal,
            **{column: row.get(column) for column in COLUMNS},
            **{column: bounded(row.get(column)) for column in NUMBERS},
            "at": parsed(row.get("at")),
            "extra": {k: v for k, v in row.items() if k not in NAMED},
        }


def extracts_of(session: Session, incident_id: str) -> Iterator[bytes]:
    """Packed extracts of all artifacts of an incident, in the order of ids."""
    last = ""
    while True:
        page = session.execute(
            select(Digest.artifact_id, Digest.extract)
            .where(Digest.incident_id == incident_id, Digest.artifact_id > last)
            .order_by(Digest.artifact_id)
            .limit(PAGE)
        ).all()
        yield from (row.extract for row in page)
        if len(page) < PAGE:
            return
        last = page[-1].artifact_id


class Dated(Protocol):
    """Where and when a row is, seen beside all others of its incident."""

    @property
    def artifact(self) -> str: ...
    @property
    def line(self) -> int | None: ...
    @property
    def signature(self) -> str: ...
    @property
    def at(self) -> str | None: ...
    @property
    def node(self) -> str | None: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def gpu(self) -> str | None: ...


def redate(session: Session, incident_id: str, found: Iterable[Dated]) -> int:
    """Times and places that only the whole incident tells, for rows that are there already.

    How many of them changed. Where one line gave several rows, they are taken in order.
    """
    wanted: dict[tuple[str, int | None, str], list[Dated]] = {}
    for one in found:
        wanted.setdefault((one.artifact, one.line, one.signature), []).append(one)
    rows = session.execute(PLACES, {"of_incident": incident_id}).all()
    changes = []
    for row_id, artifact, line, signature, at, node, rank, gpu in rows:
        same = wanted.get((artifact, line, signature))
        if not same:
            continue
        one = same.pop(0) if len(same) > 1 else same[0]
        placed = (parsed(one.at), one.node, one.rank, one.gpu)
        if placed != (at, node, rank, gpu):
            changes.append(
                {
                    "of_row": row_id, "at": placed[0], "node": one.node, "rank": one.rank,
                    "gpu": one.gpu,
                }
            )  # fmt: skip
    if changes:
        session.execute(REPLACE, changes)
    return len(changes)


def of_incident(
    session: Session,
    incident_id: str,
    *,
    after: int | None = None,
    limit: int = 50,
    role: str | None = None,
    node: str | None = None,
    kind: str | None = None,
) -> list[tuple[int, dict[str, Any]]]:
    """(cursor, row of ``triage parse``) in the order in which they were read."""
    query = select(Evidence).where(Evidence.incident_id == incident_id)
    if after is not None:
        query = query.where(Evidence.id > after)
    if role is not None:
        query = query.where(Evidence.role == role)
    if node is not None:
        query = query.where(Evidence.node == node)
    if kind is not None:
        query = query.where(Evidence.kind == kind)
    rows = session.scalars(query.order_by(Evidence.id).limit(limit))
    return [(row.id, wire(row)) for row in rows]


def of_artifact(session: Session, artifact_id: str, limit: int = 50) -> list[dict[str, Any]]:
    """Rows of ``triage parse`` of one file, in the order in which they were read."""
    rows = session.scalars(
        select(Evidence)
        .where(Evidence.artifact_id == artifact_id)
        .order_by(Evidence.ordinal)
        .limit(limit)
    )
    return [wire(row) for row in rows]


def wire(row: Evidence) -> dict[str, Any]:
    named = {column: getattr(row, column) for column in COLUMNS}
    return {**named, "at": iso_utc(row.at), **row.extra}


def bounded(value: object) -> object:
    """A number out of a log can be longer than any column."""
    if isinstance(value, int) and not -MOST_INT <= value <= MOST_INT:
        return MOST_INT if value > 0 else -MOST_INT
    return value


def parsed(at: object) -> datetime | None:
    if isinstance(at, datetime):
        return at
    return datetime.fromisoformat(at).astimezone(UTC) if isinstance(at, str) else None
