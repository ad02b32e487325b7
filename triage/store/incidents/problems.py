"""Recurring problems: which incidents belong to which, and what is known of each.

An incident is put to a problem by one session at a time for each cluster, which holds the cluster,
behind the incident where it holds both.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, func, or_, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from models import Cluster, Incident, Occurrence, Resolution, Suspect
from triage.analysis import problems
from triage.analysis.fingerprint import VERSION, Fingerprint, Stratum
from triage.domain.batched import split_into_batches
from triage.domain.recurrence import (
    NodeCount,
    ProblemOfIncident,
    RecurringProblem,
    ResolutionCount,
)

_MOST_LISTED: Final = 20


def list_unplaced(session: Session, since: datetime, limit: int) -> list[str]:
    """Incidents opened since then whose final answer has no fingerprint of this release."""
    rows = session.scalars(
        select(Incident.id)
        .outerjoin(Occurrence, Occurrence.incident_id == Incident.id)
        .where(
            Incident.created_at >= since,
            Incident.provisional.is_(False),
            Incident.verdict.is_not(None),
            or_(Occurrence.incident_id.is_(None), Occurrence.version < VERSION),
        )
        .order_by(Incident.id)
        .limit(limit)
    )
    return list(rows)


def list_occurrences(
    session: Session,
    since: datetime,
    *,
    cluster_id: int | None = None,
    stratum: Stratum | None = None,
) -> list[problems.Occurrence]:
    """Incidents opened since then that have a fingerprint, of one cluster and stratum or of all."""
    query = select(Occurrence).where(Occurrence.at >= since, Occurrence.features.is_not(None))
    if cluster_id is not None:
        query = query.where(Occurrence.cluster_id == cluster_id)
    if stratum is not None:
        query = query.where(Occurrence.stratum == stratum)
    columns = (
        *(Occurrence.incident_id, Occurrence.cluster_id, Occurrence.stratum, Occurrence.features),
        *(Occurrence.problem_id, Occurrence.by_hand),
    )
    return [
        problems.Occurrence(
            incident_id,
            cluster,
            Fingerprint(Stratum(of or Stratum.UNKNOWN), features or {}),
            problem,
            by_hand,
        )
        for incident_id, cluster, of, features, problem, by_hand in session.execute(
            query.with_only_columns(*columns).order_by(Occurrence.incident_id)
        )
    ]


def put(
    session: Session,
    incident_id: str,
    cluster_id: int,
    fingerprint: Fingerprint | None,
    problem_id: str | None,
) -> None:
    """Keep the fingerprint of an incident, and its problem unless a person has said which."""
    at = session.scalars(select(Incident.created_at).where(Incident.id == incident_id)).one()
    row = session.get(Occurrence, incident_id, populate_existing=True)
    if row is None:
        row = Occurrence(incident_id=incident_id, by_hand=False)
        session.add(row)
    row.cluster_id = cluster_id
    row.at = at
    row.stratum = None if fingerprint is None else str(fingerprint.stratum)
    row.features = None if fingerprint is None else dict(fingerprint.features)
    row.version = VERSION
    if not row.by_hand:
        row.problem_id = problem_id
    session.flush()


def forget_features(session: Session, incident_id: str) -> None:
    """Drop the fingerprint of an incident, whose words are those of a file that is erased."""
    query = update(Occurrence).where(Occurrence.incident_id == incident_id)
    session.execute(query.values(features=None, version=0))


def assign(
    session: Session, problem_id: str, incident_ids: Collection[str], *, by_hand: bool = False
) -> None:
    """These incidents are of this problem; ``by_hand``, nothing but a person changes it again."""
    values: dict[str, Any] = {"problem_id": problem_id}
    if by_hand:
        values["by_hand"] = True
    for part in split_into_batches(sorted(incident_ids), 1000):
        these = Occurrence.incident_id.in_(part)
        session.execute(update(Occurrence).where(these).values(**values))


def list_incident_ids(session: Session, *problem_ids: str) -> list[str]:
    """The incidents of these problems."""
    query = select(Occurrence.incident_id).where(Occurrence.problem_id.in_(problem_ids))
    return list(session.scalars(query))


def map_problems(session: Session, incident_ids: Collection[str]) -> dict[str, ProblemOfIncident]:
    """The problems of these incidents, and the place that each has among its incidents."""
    asked = select(Occurrence.problem_id).where(
        Occurrence.incident_id.in_(incident_ids), Occurrence.problem_id.is_not(None)
    )
    by_age = (Occurrence.at, Occurrence.incident_id)
    places = (
        select(
            Occurrence.incident_id,
            Occurrence.problem_id,
            Occurrence.at,
            func.count().over(partition_by=Occurrence.problem_id).label("number"),
            func.row_number()
            .over(partition_by=Occurrence.problem_id, order_by=by_age)
            .label("nth"),
            func.min(Occurrence.at).over(partition_by=Occurrence.problem_id).label("first_seen"),
            func.max(Occurrence.at).over(partition_by=Occurrence.problem_id).label("last_seen"),
        )
        .where(Occurrence.problem_id.in_(asked))
        .subquery()
    )
    rows = session.execute(select(places).where(places.c.incident_id.in_(incident_ids))).all()
    if not rows:
        return {}
    resolved = _map_resolutions(session, {row.problem_id for row in rows})
    return {
        row.incident_id: ProblemOfIncident(
            row.problem_id,
            row.number,
            row.nth,
            row.first_seen,
            row.last_seen,
            resolved.get(row.problem_id, ()),
            row.at,
        )
        for row in rows
    }


def _map_resolutions(
    session: Session, problem_ids: Collection[str]
) -> Mapping[str, tuple[ResolutionCount, ...]]:
    counted = _count_by_problem(session, problem_ids, Resolution.category, Resolution.node)
    return {of: tuple(ResolutionCount(*row) for row in rows) for of, rows in counted.items()}


def _count_by_problem(
    session: Session,
    problem_ids: Collection[str],
    *columns: InstrumentedAttribute[Any],
    where: ColumnElement[bool] | None = None,
) -> defaultdict[str, list[Sequence[Any]]]:
    """(values of ``columns`` of one table, how many incidents of the problem have them), the most
    frequent first, at most 20 of each problem.
    """
    number = func.count()
    of = columns[0].class_
    query = (
        select(Occurrence.problem_id, *columns, number)
        .join(of, of.incident_id == Occurrence.incident_id)
        .where(Occurrence.problem_id.in_(problem_ids))
        .group_by(Occurrence.problem_id, *columns)
        .order_by(number.desc(), *columns)
    )
    found: defaultdict[str, list[Sequence[Any]]] = defaultdict(list)
    for problem_id, *row in session.execute(query if where is None else query.where(where)):
        if len(found[problem_id]) < _MOST_LISTED:
            found[problem_id].append(row)
    return found


def list_problems(
    session: Session,
    *,
    problem_id: str | None = None,
    cluster: str | None = None,
    since: datetime | None = None,
    category: str | None = None,
    node: str | None = None,
    before: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> list[RecurringProblem]:
    """Problems, the last seen first; ``before`` is the last row already seen.

    ``since`` is when a problem was last seen at the earliest; ``category`` and ``node`` are those
    of one of its incidents (the node that of its first suspect); None is any.
    """
    last_seen = func.max(Occurrence.at)
    of_incident: list[ColumnElement[bool]] = []
    if category is not None:
        of_incident.append(Incident.category == category)
    if node is not None:
        of_incident += [Suspect.node == node, Suspect.position == 1]
    query = (
        select(
            Occurrence.problem_id,
            func.max(Cluster.name).label("cluster"),
            func.count().label("number"),
            func.min(Occurrence.at).label("first_seen"),
            last_seen.label("last_seen"),
            func.max(Occurrence.incident_id).label("newest"),
        )
        .join(Cluster, Cluster.id == Occurrence.cluster_id)
        .where(Occurrence.problem_id.is_not(None))
        .group_by(Occurrence.problem_id)
        .order_by(last_seen.desc(), Occurrence.problem_id.desc())
        .limit(limit)
    )
    if problem_id is not None:
        query = query.where(Occurrence.problem_id == problem_id)
    if cluster is not None:
        query = query.where(Cluster.name == cluster)
    if of_incident:
        named = (
            select(Occurrence.problem_id)
            .join(Incident, Incident.id == Occurrence.incident_id)
            .outerjoin(Suspect, Suspect.incident_id == Incident.id)
            .where(*of_incident)
        )
        query = query.where(Occurrence.problem_id.in_(named))
    if since is not None:
        query = query.having(last_seen >= since)
    if before is not None:
        query = query.having(tuple_(last_seen, Occurrence.problem_id) < before)
    return _describe_problems(session, session.execute(query).all())


def _describe_problems(session: Session, rows: Sequence[Any]) -> list[RecurringProblem]:
    ids = [row.problem_id for row in rows]
    resolved = _map_resolutions(session, ids)
    first_suspects = (Suspect.position == 1) & Suspect.node.is_not(None)
    nodes = _count_by_problem(session, ids, Suspect.node, where=first_suspects)
    newest = session.execute(
        select(Incident.id, Incident.category, Incident.verdict).where(
            Incident.id.in_([row.newest for row in rows])
        )
    )
    answers = {incident_id: (category, verdict) for incident_id, category, verdict in newest}
    return [
        RecurringProblem(
            id=row.problem_id,
            cluster=row.cluster or None,
            category=answers[row.newest][0],
            summary=(answers[row.newest][1] or {}).get("summary", ""),
            count=row.number,
            first_seen=row.first_seen,
            last_seen=row.last_seen,
            nodes=tuple(NodeCount(*one) for one in nodes[row.problem_id]),
            resolved_by=resolved.get(row.problem_id, ()),
        )
        for row in rows
    ]
