"""Search: rows whose names or words hold a text, the newest first, each question bounded.

Evidence is millions of rows and has no index of its words. It is walked backwards in spans of
ids, from the newest row on, until enough incidents are found or the time is over. That needs no
index that every upload would have to keep up, and is the same on SQLite and PostgreSQL.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, case, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Artifact, Cluster, Evidence, Incident, Job, Node, PartSighting

# Rows of evidence that one question looks at: some 20 ms.
SPAN: Final = 20_000
_ESCAPE: Final = "\\"
_MARKS: Final = str.maketrans({mark: _ESCAPE + mark for mark in (_ESCAPE, "%", "_")})
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


class IncidentFound(NamedTuple):
    """An incident; ``summary`` is its verdict in words, empty before the first."""

    id: str
    job_id: str
    cluster: str | None
    at: datetime
    summary: str


class NodeFound(NamedTuple):
    """A node of a cluster, and when it was last seen."""

    name: str
    cluster: str | None
    at: datetime


class PartFound(NamedTuple):
    """A part, the node that it was last seen in, and when."""

    kind: str
    identity: str
    node: str
    cluster: str | None
    at: datetime


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


def _build_cluster_conditions(cluster: str | None) -> list[ColumnElement[bool]]:
    return [] if cluster is None else [Cluster.name == cluster]


def find_incidents_of_job(
    session: Session, text: str, cluster: str | None, limit: int
) -> list[IncidentFound]:
    """Incidents of jobs whose id holds the text."""
    order = _order_best_first(Job.job_id, text)
    return _find_incidents(session, _contains(session, Job.job_id, text), cluster, limit, order)


def find_incidents_of_category(
    session: Session, category: str, cluster: str | None, limit: int
) -> list[IncidentFound]:
    """Incidents with this cause."""
    return _find_incidents(session, Incident.category == category, cluster, limit)


def _find_incidents(
    session: Session,
    where: ColumnElement[bool],
    cluster: str | None,
    limit: int,
    *order: ColumnElement[int],
) -> list[IncidentFound]:
    query: Select[Any] = (
        select(Incident.id, Job.job_id, Cluster.name, Incident.created_at, Incident.verdict)
        .join(Job, Incident.job_fk == Job.id)
        .join(Cluster, Job.cluster_id == Cluster.id)
        .where(where, *_build_cluster_conditions(cluster))
        .order_by(*order, Incident.created_at.desc(), Incident.id.desc())
        .limit(limit)
    )
    return [
        IncidentFound(id_, job, name or None, at, str((verdict or {}).get("summary") or ""))
        for id_, job, name, at, verdict in session.execute(query)
    ]


def find_nodes(session: Session, text: str, cluster: str | None, limit: int) -> list[NodeFound]:
    """Nodes whose name holds the text."""
    query = (
        select(Node.name, Cluster.name, Node.last_seen_at)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(_contains(session, Node.name, text), *_build_cluster_conditions(cluster))
        .order_by(_order_best_first(Node.name, text), Node.name, Cluster.name)
        .limit(limit)
    )
    return [NodeFound(name, of or None, at) for name, of, at in session.execute(query)]


def find_parts(
    session: Session, text: str, spellings: Sequence[str], cluster: str | None, limit: int
) -> list[PartFound]:
    """Parts whose identity is one of the ``spellings`` or holds the text; the last stay of each."""
    identity = PartSighting.identity
    query = (
        select(PartSighting.kind, identity, Node.name, Cluster.name, PartSighting.last_at)
        .join(Node, PartSighting.node_id == Node.id)
        .join(Cluster, Node.cluster_id == Cluster.id)
        .where(
            _contains(session, identity, text) | identity.in_(spellings),
            *_build_cluster_conditions(cluster),
        )
        .order_by(
            case((identity.in_(spellings), 0), else_=1),
            PartSighting.last_at.desc(),
            PartSighting.id.desc(),
        )
        .limit(limit)
    )
    return [
        PartFound(kind, name, node, of or None, at)
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
    for start in range(0, len(incidents), 500):
        query = select(Evidence.incident_id).where(
            Evidence.incident_id.in_(incidents[start : start + 500]), Evidence.id > row_id, where
        )
        found.update(session.scalars(query.distinct()))
    return found


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _list_rows(
    session: Session, counts: dict[int, int], cluster: str | None
) -> Iterator[EvidenceFound]:
    ids = sorted(counts, reverse=True)
    for start in range(0, len(ids), 500):
        query = (
            select(
                Evidence.id, Incident.id, Job.job_id, Cluster.name, Evidence.node, Evidence.at,
                Evidence.text,
            )
            .join(Incident, Evidence.incident_id == Incident.id)
            .join(Job, Incident.job_fk == Job.id)
            .join(Cluster, Job.cluster_id == Cluster.id)
            .where(Evidence.id.in_(ids[start : start + 500]), *_build_cluster_conditions(cluster))
        )  # fmt: skip
        for row_id, incident, job, name, node, at, text in session.execute(query):
            yield EvidenceFound(row_id, incident, job, name or None, node, at, text, counts[row_id])
