"""Digests and rows of evidence: what the artifacts of an incident came down to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from models import Digest, Evidence
from triage.domain.report import iso_utc

__all__ = ["add_digest", "add_rows", "extracts_of", "of_incident", "redate"]

# Columns of the table; the rest of a row goes into `extra`.
COLUMNS: Final = (
    "artifact", "line", "at", "clock", "node", "rank", "kind", "code", "gpu", "category",
    "role", "signature", "text", "count",
)  # fmt: skip
# Digests that are fetched at once.
PAGE: Final = 512
MAX_ROWS: Final = 20_000


def add_digest(session: Session, incident_id: str, artifact_id: str, extract: bytes) -> None:
    """Keep a packed extract; read again, it replaces the one before."""
    same = (Digest.incident_id == incident_id, Digest.artifact_id == artifact_id)
    session.execute(delete(Digest).where(*same))
    session.execute(
        insert(Digest).values(incident_id=incident_id, artifact_id=artifact_id, extract=extract)
    )


def add_rows(
    session: Session,
    incident_id: str,
    artifact_id: str,
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Rows of ``triage parse`` of one artifact, in their order; read again, they replace those
    before. Of more than 20,000 only the first are kept for questions; the answer knows all.
    """
    session.execute(delete(Evidence).where(Evidence.artifact_id == artifact_id))
    if not rows:
        return
    session.execute(
        insert(Evidence),
        [
            {
                "incident_id": incident_id,
                "artifact_id": artifact_id,
                "ordinal": ordinal,
                **{column: row.get(column) for column in COLUMNS},
                "at": parsed(row.get("at")),
                "extra": {k: v for k, v in row.items() if k not in COLUMNS},
            }
            for ordinal, row in enumerate(rows[:MAX_ROWS])
        ],
    )


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


def redate(session: Session, incident_id: str, found: Iterable[Mapping[str, Any]]) -> None:
    """Times and places that only the whole incident tells, for rows that are there already.

    ``found`` are rows with artifact, line and signature, and the values of those columns
    that changed: at, node, rank, gpu.
    """
    for row in found:
        values = {k: row[k] for k in ("node", "rank", "gpu") if k in row}
        if "at" in row:
            values["at"] = parsed(row["at"])
        if values:
            session.execute(
                update(Evidence)
                .where(Evidence.incident_id == incident_id)
                .where(Evidence.artifact == row["artifact"], Evidence.line == row["line"])
                .where(Evidence.signature == row["signature"])
                .values(**values)
            )


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


def wire(row: Evidence) -> dict[str, Any]:
    named = {column: getattr(row, column) for column in COLUMNS}
    return {**named, "at": iso_utc(row.at), **row.extra}


def parsed(at: object) -> datetime | None:
    if isinstance(at, datetime):
        return at
    return datetime.fromisoformat(at).astimezone(UTC) if isinstance(at, str) else None
