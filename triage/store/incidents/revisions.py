"""Answers to incidents, and the suspects of the newest one.

The suspects of the newest answer to an incident.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from models import Revision, Suspect
from triage.analysis.facts.part import list_named_parts
from triage.domain.category import Role
from triage.domain.report import WantedFile

# Of a long list of suspects, those further down are looked at when somebody asks.
_MOST_PARTS = 20
# What of a suspect's row is a column of its own.
_OF_ROW = ("position", "node", "category", "role", "score")


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """An answer that is to be kept: ``packed`` whole, and the ``report`` that says it.

    It rests on so many ``inputs`` of the incident, and took so many ``seconds``. ``wanted`` are
    the files that would decide.
    """

    packed: bytes
    report: Mapping[str, Any]
    provisional: bool
    inputs: int
    seconds: float
    wanted: Sequence[WantedFile] = ()


def add(
    session: Session, incident_id: str, revision: int, answer: NewAnswer, now: datetime
) -> None:
    """Keep one more answer; its suspects replace those of the one before."""
    session.add(
        Revision(
            incident_id=incident_id,
            revision=revision,
            provisional=answer.provisional,
            answer=answer.packed,
            created_at=now,
        )
    )
    session.execute(delete(Suspect).where(Suspect.incident_id == incident_id))
    suspects = answer.report["suspects"]
    if suspects:
        session.execute(
            insert(Suspect),
            [
                {
                    **{column: row[column] for column in _OF_ROW},
                    "incident_id": incident_id,
                    "row": row,
                    "part": _get_part(row),
                }
                for row in suspects
            ],
        )


def _get_part(row: Mapping[str, Any]) -> str | None:
    """The part that a suspect's reasons name first, empty for none; None where nobody will ask."""
    if row["role"] == Role.AFFECTED or row["position"] > _MOST_PARTS:
        return None
    return list_named_parts(row).first or ""


def find_newest(session: Session, incident_id: str) -> Revision | None:
    """The newest answer; None before the first."""
    return session.scalar(
        select(Revision)
        .where(Revision.incident_id == incident_id)
        .order_by(Revision.revision.desc())
        .limit(1)
    )


def find_revision(session: Session, incident_id: str, revision: int) -> Revision | None:
    """The answer of this number; None where there is none."""
    return session.get(Revision, (incident_id, revision))


class RevisionHead(NamedTuple):
    """An answer by its number, without what it says."""

    number: int
    provisional: bool
    created_at: datetime


def list_revisions(session: Session, incident_id: str, limit: int = 200) -> list[RevisionHead]:
    """The newest answers, the newest first."""
    rows = session.execute(
        select(Revision.revision, Revision.provisional, Revision.created_at)
        .where(Revision.incident_id == incident_id)
        .order_by(Revision.revision.desc())
        .limit(limit)
    )
    return [RevisionHead(*row) for row in rows]


def list_suspects(session: Session, incident_id: str) -> list[dict[str, Any]]:
    """As the report prints them, best first; empty before the first answer."""
    rows = session.scalars(
        select(Suspect.row).where(Suspect.incident_id == incident_id).order_by(Suspect.position)
    )
    return list(rows)


def list_first_suspects(session: Session, incident_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The first suspect of each of these incidents, as the report prints it; some have none."""
    rows = session.execute(
        select(Suspect.incident_id, Suspect.row).where(
            Suspect.incident_id.in_(incident_ids), Suspect.position == 1
        )
    )
    return {found.incident_id: found.row for found in rows}
