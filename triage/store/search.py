"""Search: rows whose names or words hold a text, the newest first, each question bounded.

Evidence is millions of rows and has no index of its words. It is walked backwards in spans of
ids, from the newest row on, until enough incidents are found or the time is over. That needs no
index that every upload would have to keep up, and is the same on SQLite and PostgreSQL.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import ascii_lowercase, ascii_uppercase
from typing import Annotated, Any, Final

from sqlalchemy import ColumnElement, Select, bindparam, case, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Artifact, Cluster, Evidence, Incident, Job, Node, PartSighting
from triage.domain.batched import split_into_batches
from triage.domain.wire import Keywords, WireForm
from triage.store.jobs import in_cluster

# Rows of evidence that one question looks at: some 20 ms.
SPAN: Final = 20_000
MAX_TEXT: Final = 400
_ESCAPE: Final = "\\"
_MARKS: Final = str.maketrans({mark: _ESCAPE + mark for mark in (_ESCAPE, "%", "_")})
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True, slots=True)
class SearchHit(WireForm):
    """What was found, of one ``kind``."""

    kind: Annotated[str, "`incident`, `job`, `node`, `part`, `category`, `code` or `evidence`."]
    name: Annotated[str, "What bears the text: an id, a name, an identity, a cause or a code."]
    exact: Annotated[bool, "Whether the name is the text, and does not only hold it."]
    cluster: str | None
    at: datetime | None
    text: Annotated[str, "A verdict, or a row of evidence, cut; of a part its kind."] = ""
    incident_id: str | None = None
    job_id: str | None = None
    node: str | None = None
    count: Annotated[int, Keywords(minimum=1), "Rows of evidence of that incident that fit."] = 1


@dataclass(frozen=True, slots=True)
class EvidenceFound:
    """The newest row of an incident that fits, and how many rows of the span do."""

    id: int
    incident_id: str
    job_id: str
    cluster: str | None
    node: str | None
    at: datetime | None
    text: str
    count: int


def _contains(
    session: Session, column: InstrumentedAttribute[str], text: str
) -> ColumnElement[bool]:
    """Whether the column holds the text, in any case of A to Z; ``%`` and ``_`` mean themselves."""
    if _is_sqlite(session):  # whose LIKE is blind to the case of these letters
        return column.like(f"%{text.translate(_MARKS)}%", escape=_ESCAPE)
    # ILIKE asks the locale for each letter and takes four times as long. "C" knows A to Z alone.
    wanted = text.translate(_LOWER)
    return func.strpos(func.lower(column.collate("C")), bindparam(None, wanted, column.type)) > 0


def _order_best_first(column: InstrumentedAttribute[str], text: str) -> ColumnElement[int]:
    """Those that are the text before those that only hold it."""
    return case(
        (column == text, 0),
        (func.lower(column) == func.lower(bindparam(None, text, column.type)), 1),
        else_=2,
    )


def find_incidents(
    session: Session, kind: str, text: str, cluster: str | None, limit: int
) -> list[SearchHit]:
    """Incidents whose id is the text, of jobs whose id holds it, or with this cause."""
    name: InstrumentedAttribute[Any]
    order: tuple[ColumnElement[int], ...] = ()
    if kind == "job":
        name, where = Job.job_id, _contains(session, Job.job_id, text)
        order = (_order_best_first(Job.job_id, text),)
    else:
        name = Incident.id if kind == "incident" else Incident.category
        where = name == text
    query: Select[Any] = (
        select(name, Cluster.name, Incident.created_at, Incident.verdict, Incident.id, Job.job_id)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(where, *in_cluster(cluster))
        .order_by(*order, Incident.created_at.desc(), Incident.id.desc())
        .limit(limit)
    )
    return [
        SearchHit(
            kind, found, _is_same(found, text), of or None, at,
            str((verdict or {}).get("summary") or "")[:MAX_TEXT], id_, job,
        )
        for found, of, at, verdict, id_, job in session.execute(query)
    ]  # fmt: skip


def _is_same(name: str, text: str) -> bool:
    return name.casefold() == text.casefold()


def find_nodes(session: Session, text: str, cluster: str | None, limit: int) -> list[SearchHit]:
    """Nodes whose name holds the text."""
    query = (
        select(Node.name, Cluster.name, Node.last_seen_at)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(_contains(session, Node.name, text), *in_cluster(cluster))
        .order_by(_order_best_first(Node.name, text), Node.name, Cluster.name)
        .limit(limit)
    )
    return [
        SearchHit("node", name, _is_same(name, text), of or None, at, node=name)
        for name, of, at in session.execute(query)
    ]


def find_parts(
    session: Session, text: str, spellings: Sequence[str], cluster: str | None, limit: int
) -> list[SearchHit]:
    """Parts whose identity is one of the ``spellings`` or holds the text; the last stay of each."""
    identity = PartSighting.identity
    query = (
        select(PartSighting.kind, identity, Node.name, Cluster.name, PartSighting.last_at)
        .join(Node, PartSighting.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(
            _contains(session, identity, text) | identity.in_(spellings),
            *in_cluster(cluster),
        )
        .order_by(
            case((identity.in_(spellings), 0), else_=1),
            PartSighting.last_at.desc(),
            PartSighting.id.desc(),
        )
        .limit(limit)
    )
    return [
        SearchHit("part", name, name in spellings, of or None, at, kind, node=node)
        for kind, name, node, of, at in session.execute(query)
    ]


def build_text_condition(session: Session, text: str) -> ColumnElement[bool]:
    """Rows of evidence whose text holds this one."""
    return _contains(session, Evidence.text, text)


def build_code_condition(kind: str, code: int) -> ColumnElement[bool]:
    """Rows of evidence with this code of this kind (``xid``, ``sxid``)."""
    return (Evidence.kind == kind) & (Evidence.code == code)


def find_newest_row(session: Session, upto: int | None = None) -> int:
    """The id of the newest row of evidence, or of the newest ``upto`` that id; 0 for none."""
    query = select(func.max(Evidence.id))
    if upto is not None:
        query = query.where(Evidence.id <= upto)
    return session.scalar(query) or 0


def find_arrival_time(session: Session, row_id: int) -> datetime | None:
    """When the file of the first row behind this one came; None where there is no such row."""
    query = (
        select(Artifact.created_at)
        .join(Evidence, Evidence.artifact_id == Artifact.id)
        .where(Evidence.id > row_id)
        .order_by(Evidence.id)
        .limit(1)
    )
    return session.scalar(query)


def find_evidence(
    session: Session, where: ColumnElement[bool], cluster: str | None, last: int
) -> list[EvidenceFound]:
    """What fits in the ``SPAN`` rows that end with ``last``: one an incident, newest first."""
    # The sign keeps SQLite from walking the index of incidents, which is all rows.
    incident = (
        literal_column("+evidence.incident_id") if _is_sqlite(session) else Evidence.incident_id
    )
    groups = session.execute(
        select(func.max(Evidence.id), func.count())
        .where(Evidence.id > last - SPAN, Evidence.id <= last, where)
        .group_by(incident)
    ).all()
    counts = {int(newest): int(count) for newest, count in groups}
    return sorted(_list_rows(session, counts, cluster), key=lambda row: -row.id)


def with_newer(
    session: Session, where: ColumnElement[bool], rows: Sequence[EvidenceFound], row_id: int
) -> set[str]:
    """Incidents of these rows that also have a row that fits and is newer than ``row_id``."""
    incidents = [row.incident_id for row in rows]
    found: set[str] = set()
    for part in split_into_batches(incidents, 500):
        query = select(Evidence.incident_id).where(
            Evidence.incident_id.in_(part), Evidence.id > row_id, where
        )
        found.update(session.scalars(query.distinct()))
    return found


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _list_rows(
    session: Session, counts: dict[int, int], cluster: str | None
) -> Iterator[EvidenceFound]:
    for ids in split_into_batches(sorted(counts, reverse=True), 500):
        query = (
            select(
                Evidence.id, Incident.id, Job.job_id, Cluster.name, Evidence.node, Evidence.at,
                Evidence.text,
            )
            .join(Incident, Evidence.incident_id == Incident.id)
            .join(Job, Incident.job_fk == Job.id)
            .join(Cluster, Job.cluster_id == Cluster.id)
            .where(Evidence.id.in_(ids), *in_cluster(cluster))
        )  # fmt: skip
        for row_id, incident, job, name, node, at, text in session.execute(query):
            yield EvidenceFound(row_id, incident, job, name or None, node, at, text, counts[row_id])
