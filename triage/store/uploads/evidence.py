"""Digests and rows of evidence: what the artifacts of an incident came down to.

All stored extracts, written again in another form.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, cast

from sqlalchemy import BigInteger, Table, bindparam, delete, select, update
from sqlalchemy.orm import Session

from models import Digest, Evidence
from triage.domain.states import ArtifactState
from triage.domain.wire import format_iso_utc

if TYPE_CHECKING:
    from triage.report import DatedRow
from collections.abc import Callable

from sqlalchemy import tuple_

from triage.errors import ArtifactError
from triage.store.database.engine import Database

_DIGESTS: Final = cast("Table", Digest.__table__)
_ROWS: Final = cast("Table", Evidence.__table__)
# Columns that say whose row it is; the others bear the names of the fields of a row of
# `triage parse`, whose other fields go into `extra`.
_OWN: Final = frozenset({"id", "incident_id", "artifact_id", "ordinal", "extra"})
COLUMNS: Final = tuple(column.name for column in _ROWS.columns if column.name not in _OWN)
_NUMBERS: Final = frozenset(c for c in COLUMNS if isinstance(_ROWS.c[c].type, BigInteger))
# What only the whole incident tells of a row.
_PLACED: Final = ("at", "node", "rank", "gpu")
_PLACES: Final = (
    select(
        _ROWS.c.id,
        _ROWS.c.artifact,
        _ROWS.c.line,
        _ROWS.c.signature,
        *(_ROWS.c[p] for p in _PLACED),
    )
    .where(_ROWS.c.incident_id == bindparam("of_incident"))
    .order_by(_ROWS.c.id)
)
_REPLACE: Final = (
    update(_ROWS)
    .where(_ROWS.c.id == bindparam("of_row"))
    .values({name: bindparam(name) for name in _PLACED})
)
# Digests that are fetched at once.
_PAGE: Final = 512
_MAX_ROWS: Final = 20_000
_MOST_INT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of one artifact: its packed extract, and its rows of ``triage parse``.

    ``extract`` is None where no reader got through it, ``reason`` why it is not all read.
    """

    artifact_id: str
    extract: bytes | None
    rows: Sequence[Mapping[str, Any]] = ()
    state: ArtifactState = ArtifactState.ANALYSED
    reason: str | None = None


class _EvidenceFilter(TypedDict, total=False):
    """What rows are asked for; None is any."""

    role: str | None
    node: str | None
    kind: str | None


def add_readings(session: Session, incident_id: str, readings: Sequence[Reading]) -> None:
    """Keep the extracts and rows that there are; read again, they replace what was there.

    Of more than 20,000 rows of one artifact only the first are kept for questions; the
    answer knows all of them.
    """
    extracts = [
        {"incident_id": incident_id, "artifact_id": one.artifact_id, "extract": one.extract}
        for one in readings
        if one.extract is not None
    ]
    if not extracts:
        return
    ids = [one["artifact_id"] for one in extracts]
    session.execute(
        delete(Digest).where(Digest.incident_id == incident_id, Digest.artifact_id.in_(ids))
    )
    session.execute(delete(Evidence).where(Evidence.artifact_id.in_(ids)))
    # By the tables, not the mapped classes: nothing is to be kept in the session.
    session.execute(_DIGESTS.insert(), extracts)
    rows = [row for one in readings for row in _list_columns(incident_id, one)]
    if rows:
        session.execute(_ROWS.insert(), rows)


def _list_columns(incident_id: str, reading: Reading) -> Iterator[dict[str, Any]]:
    for ordinal, row in enumerate(reading.rows[:_MAX_ROWS]):
        yield {
            "incident_id": incident_id,
            "artifact_id": reading.artifact_id,
            "ordinal": ordinal,
            **{column: row.get(column) for column in COLUMNS},
            **{column: _bound_value(row.get(column)) for column in _NUMBERS},
            "at": _parse_time(row.get("at")),
            "extra": {k: v for k, v in row.items() if k not in COLUMNS},
        }


def read_extracts(session: Session, incident_id: str) -> Iterator[bytes]:
    """Packed extracts of all artifacts of an incident, in the order of ids."""
    last = ""
    while True:
        page = session.execute(
            select(Digest.artifact_id, Digest.extract)
            .where(Digest.incident_id == incident_id, Digest.artifact_id > last)
            .order_by(Digest.artifact_id)
            .limit(_PAGE)
        ).all()
        yield from (row.extract for row in page)
        if len(page) < _PAGE:
            return
        last = page[-1].artifact_id


def update_dates(session: Session, incident_id: str, dated: Iterable["DatedRow"]) -> int:
    """Times and places that only the whole incident tells, for rows that are there already.

    How many of them changed. Where one line gave several rows, they are taken in order.
    """
    wanted: dict[tuple[str, int | None, str], list[DatedRow]] = {}
    for row in dated:
        wanted.setdefault((row.artifact, row.line, row.signature), []).append(row)
    changes = []
    for row_id, artifact, line, signature, *stored in session.execute(
        _PLACES, {"of_incident": incident_id}
    ):
        same = wanted.get((artifact, line, signature))
        if not same:
            continue
        row = same.pop(0) if len(same) > 1 else same[0]
        placed = [_parse_time(row.at), row.node, row.rank, row.gpu]
        if placed != stored:
            changes.append({"of_row": row_id, **dict(zip(_PLACED, placed, strict=True))})
    if changes:
        session.execute(_REPLACE, changes)
    return len(changes)


def list_by_incident(
    session: Session,
    incident_id: str,
    *,
    after: int | None = None,
    limit: int = 50,
    **wanted: Unpack[_EvidenceFilter],
) -> list[tuple[int, dict[str, Any]]]:
    """(cursor, row of ``triage parse``) in the order in which they were read."""
    query = select(Evidence).where(Evidence.incident_id == incident_id)
    if after is not None:
        query = query.where(Evidence.id > after)
    for column, value in wanted.items():
        if value is not None:
            query = query.where(getattr(Evidence, column) == value)
    rows = session.scalars(query.order_by(Evidence.id).limit(limit))
    return [(row.id, make_wire_row(row)) for row in rows]


def list_by_artifact(session: Session, artifact_id: str, limit: int = 50) -> list[dict[str, Any]]:
    """Rows of ``triage parse`` of one file, in the order in which they were read."""
    rows = session.scalars(
        select(Evidence)
        .where(Evidence.artifact_id == artifact_id)
        .order_by(Evidence.ordinal)
        .limit(limit)
    )
    return [make_wire_row(row) for row in rows]


def make_wire_row(row: Evidence) -> dict[str, Any]:
    """A row of the table as ``triage parse`` prints it."""
    named = {column: getattr(row, column) for column in COLUMNS}
    return {**named, "at": format_iso_utc(row.at), **row.extra}


def _bound_value(value: object) -> object:
    """A number out of a log can be longer than any column."""
    if isinstance(value, int) and not -_MOST_INT <= value <= _MOST_INT:
        return _MOST_INT if value > 0 else -_MOST_INT
    return value


def _parse_time(at: object) -> datetime | None:
    if isinstance(at, datetime):
        return at
    return datetime.fromisoformat(at).astimezone(UTC) if isinstance(at, str) else None


_BATCH: Final = 200


def rewrite_extracts(database: Database, change: Callable[[bytes], bytes]) -> int:
    """Write down what ``change`` makes of each extract; how many changed.

    Commits as it goes; a second run changes nothing. One that is damaged stays as it is.
    """
    changed, after = 0, ("", "")
    key = (Digest.incident_id, Digest.artifact_id)
    query = select(*key, Digest.extract).order_by(*key).limit(_BATCH)
    while True:
        with database.writing() as session:
            rows = session.execute(query.where(tuple_(*key) > after)).all()
            if not rows:
                return changed
            for incident_id, artifact_id, extract in rows:
                new = _apply_change(change, extract)
                if new != extract:
                    of_file = Digest.artifact_id == artifact_id
                    this = update(Digest).where(Digest.incident_id == incident_id, of_file)
                    session.execute(this.values(extract=new))
                    changed += 1
            after = (incident_id, artifact_id)


def _apply_change(change: Callable[[bytes], bytes], extract: bytes) -> bytes:
    try:
        return change(extract)
    except ArtifactError:
        return extract
