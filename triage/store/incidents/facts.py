"""The facts of an incident's job: every statement as it came, and what they come to together.

``incident.facts`` is what ``triage.domain.facts`` makes of the rows of ``incident_facts``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.orm import Session, undefer

from models import Incident, IncidentFacts
from models.base import decode_stored_json
from triage.domain.caller import Caller
from triage.domain.facts import (
    FactsSource,
    FactsState,
    Statement,
    add_statement,
    is_still_in_conflict,
    list_contradicted,
    merge_statements,
    state_when_settled,
)
from triage.store.database.upsert import lock_rows
from triage.store.incidents.incidents import schedule_settling

# Among the facts, what our own record knew at the first answer, of nodes and of earlier starts of
# the job: never what others say.
STANDINGS: Final = "triage.standings"
STARTS: Final = "triage.starts"
_OF_THE_RECORD: Final[tuple[str, ...]] = (STANDINGS, STARTS)
# Conflicts of one token over one incident. More of them would say nothing more.
MOST_CONFLICTS: Final = 20


def read_facts_json(session: Session, incident_id: str) -> bytes:
    """The job.json object of an incident, as far as hooks and bundles have told it, as JSON."""
    stored = type_coerce(Incident.facts, Text)
    return (session.scalar(select(stored).where(Incident.id == incident_id)) or "{}").encode()


def drop_record(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts without what only our own record may say."""
    return {key: value for key, value in facts.items() if key not in _OF_THE_RECORD}


def add_facts(
    session: Session, incident_id: str, statement: Statement, quiet_s: float, now: datetime
) -> None:
    """Keep what the ``job.json`` of a bundle says."""
    found = lock_rows(session, select(Incident).where(Incident.id == incident_id)).one()
    inputs = found.inputs
    keep_statement(session, found, statement, now)
    if found.inputs > inputs:
        schedule_settling(session, found, quiet_s, now)


def keep_statement(session: Session, found: Incident, statement: Statement, now: datetime) -> None:
    """Keep what was said of the job of an incident, which is in this session and locked by it."""
    facts = drop_record(found.facts)
    statement = replace(statement, facts=drop_record(decode_stored_json(statement.facts)))
    if not statement.facts:
        return
    if found.settled_at is not None:
        statement = replace(statement, state=state_when_settled(facts, statement))
    after = add_statement(facts, statement)
    own = _own_statements(session, found.id, statement)
    conflicts = statement.state is FactsState.CONFLICT
    enough = conflicts and len(own) >= MOST_CONFLICTS
    if after == facts and (enough or _is_repeated(statement, own)):
        return
    session.flush()
    session.add(_make_row(found.id, statement, now))
    _put(found, after, changed=after != facts or conflicts)


def _own_statements(
    session: Session, incident_id: str, statement: Statement
) -> Sequence[dict[str, Any]]:
    """What the same token has said of the job in the same way, oldest first."""
    return session.scalars(
        select(IncidentFacts.facts)
        .where(IncidentFacts.incident_id == incident_id)
        .where(IncidentFacts.key_id.is_not_distinct_from(statement.caller.key_id))
        .where(IncidentFacts.source == statement.source, IncidentFacts.state == statement.state)
        .order_by(IncidentFacts.id)
    ).all()


def _is_repeated(statement: Statement, own: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the same token has said all of it; of a ``job.json`` the first value is what counts,
    and each of a thousand nodes sends its own.
    """
    known = {key: value for one in own for key, value in one.items()}
    if statement.source is FactsSource.JOB_JSON:
        return bool(own) and statement.facts.keys() <= known.keys()
    return bool(own) and all(
        key in known and known[key] == value for key, value in statement.facts.items()
    )


def _put(found: Incident, facts: Mapping[str, Any], *, changed: bool) -> None:
    """Set the facts; where something ``changed``, the incident is to be answered again."""
    if changed:
        kept = {key: found.facts[key] for key in _OF_THE_RECORD if key in found.facts}
        found.facts = {**facts, **kept}
        found.inputs += 1


def list_incidents_told_by(
    session: Session, key_id: str, since: datetime | None = None, *, tainted: bool = False
) -> list[str]:
    """The incidents of whose jobs this token has said something, of that time.

    What is set apart already counts where ``tainted`` is set.
    """
    rows = select(IncidentFacts.incident_id).where(IncidentFacts.key_id == key_id)
    if not tainted:
        rows = rows.where(IncidentFacts.state != FactsState.TAINTED)
    if since is not None:
        rows = rows.where(IncidentFacts.at >= since)
    return list(session.scalars(rows.distinct().order_by(IncidentFacts.incident_id)))


def taint_statements(
    session: Session,
    incident_id: str,
    key_id: str,
    quiet_s: float,
    now: datetime,
    since: datetime | None = None,
) -> bool:
    """Set apart what a token said of an incident's job; whether the facts are others now.

    What contradicted it counts from then on, and the incident is answered again. With ``since``
    what it said earlier stands.
    """
    found = lock_rows(session, select(Incident).where(Incident.id == incident_id)).one_or_none()
    if found is None:
        return False
    facts, rows, unexplained = _read_statements(session, found)
    withdrawn = [
        row
        for row in rows
        if row.key_id == key_id
        and row.state != FactsState.TAINTED
        and (since is None or row.at >= since)
    ]
    for row in withdrawn:
        row.state = FactsState.TAINTED
    kept = [*map(_make_statement, rows), *unexplained]
    after = merge_statements(kept)
    for row in rows:
        gone = [one.facts for one in withdrawn]
        if row.state == FactsState.CONFLICT and not is_still_in_conflict(
            after, _make_statement(row), gone
        ):
            row.state = FactsState.LATE
            after = add_statement(after, _make_statement(row))
    for one in unexplained:
        session.add(_make_row(found.id, one, now))
    _put(found, after, changed=bool(withdrawn))
    schedule_settling(session, found, quiet_s, now)
    return after != facts


def withdraw_job_json(session: Session, incident_id: str) -> None:
    """Take back what job.json files of bundles said of an incident's job; it is locked already."""
    found = session.get_one(Incident, incident_id, options=[undefer(Incident.facts)])
    _, rows, unexplained = _read_statements(session, found)
    kept = [row for row in rows if row.source != FactsSource.JOB_JSON]
    for row in rows:
        if row not in kept:
            session.delete(row)
    _put(found, merge_statements([*map(_make_statement, kept), *unexplained]), changed=True)


def _read_statements(
    session: Session, found: Incident
) -> tuple[dict[str, Any], Sequence[IncidentFacts], list[Statement]]:
    """The facts of an incident, every statement of them as it came, and what none explains."""
    facts = drop_record(found.facts)
    rows = session.scalars(
        select(IncidentFacts)
        .where(IncidentFacts.incident_id == found.id)
        .order_by(IncidentFacts.id)
    ).all()
    return facts, rows, _list_unstated(rows, facts)


def _list_unstated(rows: Sequence[IncidentFacts], facts: Mapping[str, Any]) -> list[Statement]:
    """Facts that no statement explains, as one of them: they are from before statements were kept,
    or a process of the release before has added them.
    """
    explained = merge_statements(map(_make_statement, rows))
    rest = {key: facts[key] for key in facts if facts[key] != explained.get(key)}
    return [Statement(rest, FactsSource.BEFORE)] if rest else []


def list_conflict_notes(session: Session, incident_id: str) -> list[str]:
    """What contradicts the facts of a settled incident, in a sentence for each token."""
    found = session.get_one(Incident, incident_id)
    facts = drop_record(found.facts)
    keys: dict[str, set[str]] = {}
    for row in session.scalars(
        select(IncidentFacts)
        .where(IncidentFacts.incident_id == incident_id)
        .where(IncidentFacts.state == FactsState.CONFLICT)
        .order_by(IncidentFacts.id)
    ):
        what = "a job.json" if row.source == FactsSource.JOB_JSON else f"a {row.source}"
        who = f"{what} of the token {row.key_id}" if row.key_id else what
        keys.setdefault(who, set()).update(list_contradicted(facts, _make_statement(row)))
    return [
        f"after the incident had settled, {who} said another {', '.join(sorted(other))}: not used"
        for who, other in keys.items()
        if other
    ]


def _make_statement(row: IncidentFacts) -> Statement:
    return Statement(row.facts, FactsSource(row.source), Caller(row.key_id), FactsState(row.state))


def _make_row(incident_id: str, statement: Statement, now: datetime) -> IncidentFacts:
    return IncidentFacts(
        incident_id=incident_id,
        source=statement.source,
        key_id=statement.caller.key_id,
        at=now,
        state=statement.state,
        facts=dict(statement.facts),
    )
