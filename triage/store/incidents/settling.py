"""An incident on its way to an answer: what the analysis reads first and writes last.

What incidents turned out to be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, undefer

from models import Incident, Resolution, Suspect
from triage.domain.category import OF_THE_NODE
from triage.domain.states import IncidentState, WorkKind
from triage.store.database.upsert import lock_rows
from triage.store.incidents import incidents
from triage.store.incidents.matching import is_open
from triage.store.incidents.revisions import NewAnswer
from triage.store.views import ResolutionView, make_view
from triage.store.work import table as work


@dataclass(frozen=True, slots=True)
class IncidentProgress:
    """How far an incident is; ``num_unread`` files are in and not read yet.

    ``has_files`` counts those, too, that nobody expects.
    """

    id: str
    state: IncidentState
    facts: dict[str, Any]
    revision: int
    inputs: int
    answered_inputs: int
    num_unread: int
    has_files: bool
    num_artifacts: int
    expected_artifacts: int | None
    created_at: datetime
    updated_at: datetime
    settle_at: datetime
    settled_at: datetime | None
    analysed_at: datetime | None
    analyse_s: float


def find_progress(session: Session, incident_id: str) -> IncidentProgress | None:
    """How far an incident is; None where there is none."""
    row = session.get(Incident, incident_id, options=[undefer(Incident.facts)])
    if row is None:
        return None
    return make_view(
        IncidentProgress,
        row,
        state=IncidentState(row.state),
        num_unread=incidents.count_unread(session, row.id),
        has_files=bool(row.num_artifacts) or incidents.has_files(session, row.id),
    )


def note_change(session: Session, incident_id: str, now: datetime) -> None:
    """Something came that could change the answer."""
    row = _lock_incident(session, incident_id)
    row.inputs += 1
    row.updated_at = now


def note_answer(
    session: Session, incident_id: str, revision: int, answer: NewAnswer, now: datetime
) -> None:
    """Note the newest answer, which has the number ``revision``."""
    row = _lock_incident(session, incident_id)
    row.answered_inputs = max(row.answered_inputs, answer.inputs)
    row.analysed_at = now
    row.analyse_s = answer.seconds
    row.revision = revision
    row.provisional = answer.provisional
    row.verdict = answer.report["verdict"]
    row.category = answer.report["verdict"]["category"]
    row.coverage = answer.report["coverage"]
    row.restart = {"revision": revision, "restart": answer.report.get("restart")}
    row.wanted = [one.to_dict() for one in answer.wanted] or None
    row.updated_at = now


def keep_record(session: Session, incident_id: str, record: Mapping[str, Any]) -> None:
    """What the first answer was told of our own record is so for all its revisions: the same
    files, the same answer, whatever the record has learnt since.
    """
    row = _lock_incident(session, incident_id)
    if not record.keys() <= row.facts.keys():
        row.facts = {**record, **row.facts}


def settle(session: Session, incident_id: str, now: datetime) -> bool:
    """The answer is final, until something late comes; whether it was open until now."""
    row = _lock_incident(session, incident_id)
    row.state = IncidentState.READY
    row.reason = None
    row.provisional = False
    row.updated_at = now
    if is_open(row.key):
        row.key = row.id
    first = row.settled_at is None
    if first:
        row.settled_at = now
    return first


def begin_final(session: Session, incident_id: str, now: datetime) -> None:
    """Collecting is over; the final answer is being made."""
    row = _lock_incident(session, incident_id)
    if row.state == IncidentState.COLLECTING:
        row.state = IncidentState.ANALYSING
        row.updated_at = now


def go_on_collecting(session: Session, incident_id: str) -> None:
    """Something came while the final answer was made."""
    row = _lock_incident(session, incident_id)
    if row.settled_at is None:
        row.state = IncidentState.COLLECTING


def note_failure(session: Session, incident_id: str, reason: str, now: datetime) -> int:
    """We failed over this incident; the revision it has."""
    row = _lock_incident(session, incident_id)
    row.state = IncidentState.FAILED
    row.reason = reason
    row.updated_at = now
    if is_open(row.key):
        row.key = row.id
    if row.settled_at is None:
        row.settled_at = now
    return row.revision


def settle_early(session: Session, incident_id: str, now: datetime) -> None:
    """Nothing more will come: settle as soon as all is read, unless somebody expects files."""
    row = _lock_incident(session, incident_id)
    if row.settled_at is not None or row.announced:
        return
    row.settle_at = now
    session.flush()
    work.enqueue(session, WorkKind.ANALYSE, incident_id, now)


def _lock_incident(session: Session, incident_id: str) -> Incident:
    return lock_rows(session, select(Incident).where(Incident.id == incident_id)).one()


def put(session: Session, incident_id: str, said: ResolutionView) -> bool:
    """What a person says it was; it replaces what was said before. False for no such incident.

    The incident is locked: of two that speak at once, one is the later.
    """
    query = select(Incident).where(Incident.id == incident_id)
    incident = lock_rows(session, query).one_or_none()
    if incident is None:
        return False
    row = session.get(Resolution, incident_id)
    if row is None:
        row = Resolution(incident_id=incident_id)
        session.add(row)
    for field in fields(said):
        setattr(row, field.name, getattr(said, field.name))
    incident.updated_at = said.resolved_at
    session.flush()
    return True


def build_accused_condition(
    node: InstrumentedAttribute[Any] = Suspect.node, categories: Iterable[str] = OF_THE_NODE
) -> ColumnElement[bool]:
    """Nobody has said that it was another node, or none of the causes."""
    same_node = or_(Resolution.node.is_(None), Resolution.node == node)
    return or_(Resolution.incident_id.is_(None), Resolution.category.in_(categories) & same_node)
