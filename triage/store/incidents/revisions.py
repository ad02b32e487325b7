"""Answers to incidents, and the suspects of the newest one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from models import Revision, Suspect
from triage.analysis.facts.part import named_by
from triage.domain.category import Role
from triage.store.views import RevisionView

__all__ = ["Made", "add", "at", "history", "newest"]

# Of a long list of suspects, those further down are looked at when somebody asks.
MOST_PARTS = 20


def add(
    session: Session,
    incident_id: str,
    revision: int,
    *,
    provisional: bool,
    report: str,
    timeline: Sequence[Mapping[str, Any]],
    answer: bytes,
    suspects: Sequence[Mapping[str, Any]],
    now: datetime,
) -> None:
    """Keep one more answer; its suspects replace those of the one before."""
    session.add(
        Revision(
            incident_id=incident_id, revision=revision, provisional=provisional, report=report,
            timeline=[dict(one) for one in timeline], answer=answer, created_at=now,
        )
    )  # fmt: skip
    session.execute(delete(Suspect).where(Suspect.incident_id == incident_id))
    if suspects:
        session.execute(
            insert(Suspect),
            [
                {
                    "incident_id": incident_id, "position": row["position"], "node": row["node"],
                    "category": row["category"], "role": row["role"], "score": row["score"],
                    "row": dict(row), "part": part_of(row),
                }
                for row in suspects
            ],
        )  # fmt: skip


def part_of(row: Mapping[str, Any]) -> str | None:
    """The part that a suspect's reasons name first, empty for none; None where nobody will ask."""
    if row["role"] == Role.AFFECTED or row["position"] > MOST_PARTS:
        return None
    return named_by(row).first or ""


def newest(session: Session, incident_id: str) -> RevisionView | None:
    """The newest answer; None before the first."""
    row = session.scalar(
        select(Revision)
        .where(Revision.incident_id == incident_id)
        .order_by(Revision.revision.desc())
        .limit(1)
    )
    return None if row is None else view(row)


def at(session: Session, incident_id: str, revision: int) -> RevisionView | None:
    """The answer of this number; None where there is none."""
    row = session.get(Revision, (incident_id, revision))
    return None if row is None else view(row)


class Made(NamedTuple):
    """An answer by its number, without what it says."""

    number: int
    provisional: bool
    created_at: datetime


def history(session: Session, incident_id: str, limit: int = 200) -> list[Made]:
    """The newest answers, the newest first."""
    rows = session.execute(
        select(Revision.revision, Revision.provisional, Revision.created_at)
        .where(Revision.incident_id == incident_id)
        .order_by(Revision.revision.desc())
        .limit(limit)
    )
    return [Made(*row) for row in rows]


def view(row: Revision) -> RevisionView:
    return RevisionView(
        row.incident_id, row.revision, row.provisional, row.report, row.timeline, row.answer,
        row.created_at,
    )  # fmt: skip
