"""Files that would decide: digests whose dumps are not here, and what is still wanted."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import Table, and_, bindparam, case, or_, select
from sqlalchemy.orm import Session

from models import Artifact, Incident
from triage.domain.answer_wire import make_reader
from triage.domain.batched import split_into_batches
from triage.domain.file_kind import LOGS, FileKind
from triage.domain.report import WantedFile
from triage.domain.states import ArtifactState, IncidentState
from triage.store.uploads.artifacts import name_hash
from triage.store.views import ArtifactView

_FILES: Final = cast("Table", Artifact.__table__)
# What every upload of dumps asks, made once, of the table.
_NAMES_OF_DIGESTS: Final = select(_FILES.c.name_hash).where(
    _FILES.c.incident_id == bindparam("of_incident"),
    _FILES.c.name_hash.in_(bindparam("among", expanding=True)),
    _FILES.c.is_digest.is_(True),
)


class DigestHere(NamedTuple):
    """A digest whose dump is not here; ``reason`` is why it could not be read, else None."""

    node: str | None
    rank: int | None
    filename: str
    reason: str | None


class Asked(NamedTuple):
    """What is wanted of an incident now, and whether more may be; ``num_artifacts`` are in."""

    wanted: tuple[WantedFile, ...]
    settled: bool
    num_artifacts: int


def list_digests(
    session: Session, incident_id: str, ranks: Collection[int | None], most_unread: int
) -> list[DigestHere]:
    """The digests of these ranks, and up to ``most_unread`` that could not be read, of any rank,
    whose dumps are not here.
    """
    in_question = Artifact.rank.in_(ranks)
    unread = Artifact.state == ArtifactState.QUARANTINED
    rows = session.execute(
        select(Artifact.node, Artifact.rank, Artifact.filename, case((unread, Artifact.reason)))
        .where(Artifact.incident_id == incident_id, Artifact.is_digest.is_(True))
        .where(or_(in_question, unread))
        .order_by(case((in_question, 0), else_=1), Artifact.id)
        .limit(len(ranks) + most_unread)
    )
    found = {(one.node, one.rank): one for one in map(DigestHere._make, rows)}
    came = _list_dumps(session, incident_id, {one.rank for one in found.values()})
    return [one for place, one in found.items() if place not in came]


def _list_dumps(
    session: Session, incident_id: str, ranks: Collection[int | None]
) -> set[tuple[str | None, int | None]]:
    query = select(Artifact.node, Artifact.rank).where(
        Artifact.incident_id == incident_id,
        Artifact.kind == FileKind.FLIGHT_RECORDER,
        Artifact.is_digest.is_not(True),
        Artifact.rank.in_(ranks),
    )
    return {(node, rank) for node, rank in session.execute(query)}


def with_digest(session: Session, incident_id: str, files: Sequence[ArtifactView]) -> set[str]:
    """Identities of those of these new files that are dumps whose digests are here."""
    dumps = [one for one in files if one.kind == FileKind.FLIGHT_RECORDER and not one.is_digest]
    names = {name_hash(one.node, one.filename): one.identity for one in dumps}
    found: set[str] = set()
    for part in split_into_batches(names, 1000):
        among = {"of_incident": incident_id, "among": part}
        found.update(names[one] for one in session.scalars(_NAMES_OF_DIGESTS, among))
    return found


def list_wanted(session: Session, incident_id: str) -> list[WantedFile]:
    """What the newest answer wants and has not come since, the most telling first."""
    stored = session.scalar(select(Incident.wanted).where(Incident.id == incident_id))
    return _list_still_wanted(session, incident_id, stored)


def find_asked(session: Session, incident_id: str, node: str | None) -> Asked:
    """What is wanted of one node, or of a node that nobody knows."""
    row = session.execute(
        select(Incident.state, Incident.num_artifacts, Incident.wanted).where(
            Incident.id == incident_id
        )
    ).one()
    own = [one for one in row.wanted or () if one["node"] in (None, node)]
    settled = row.state in {IncidentState.READY, IncidentState.FAILED}
    return Asked(tuple(_list_still_wanted(session, incident_id, own)), settled, row.num_artifacts)


def _list_still_wanted(
    session: Session, incident_id: str, stored: Sequence[dict[str, Any]] | None
) -> list[WantedFile]:
    """Those that have not come. What came and could not be read has come."""
    wanted: list[WantedFile] = [make_reader(WantedFile)(one) for one in stored or ()]
    if not wanted:
        return []
    dumps = and_(
        Artifact.kind == FileKind.FLIGHT_RECORDER, Artifact.rank.in_({one.rank for one in wanted})
    )
    logs = and_(Artifact.kind.in_(LOGS), Artifact.node.in_({one.node for one in wanted}))
    rows = session.execute(
        select(Artifact.kind, Artifact.node, Artifact.rank, Artifact.is_digest)
        .where(Artifact.incident_id == incident_id, or_(dumps, logs))
        .distinct()
    ).all()
    logs_of = {(row.kind, row.node) for row in rows if row.kind in LOGS}
    dumps_of = {row.rank for row in rows if row.kind not in LOGS}
    whole = {(row.node, row.rank) for row in rows if row.kind not in LOGS and not row.is_digest}

    def came(one: WantedFile) -> bool:
        if one.kind in LOGS:
            return (one.kind, one.node) in logs_of
        return one.rank in dumps_of if one.filename is None else (one.node, one.rank) in whole

    return [one for one in wanted if not came(one)]
