"""Answers to incidents, and the suspects of the newest one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from models import Revision, Suspect
from triage.store.views import RevisionView

__all__ = ["add", "newest"]


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
                    "row": dict(row),
                }
                for row in suspects
            ],
        )  # fmt: skip


def newest(session: Session, incident_id: str) -> RevisionView | None:
    """The newest answer; None before the first."""
    row = session.scalar(
        select(Revision)
        .where(Revision.incident_id == incident_id)
        .order_by(Revision.revision.desc())
        .limit(1)
    )
    if row is None:
        return None
    return RevisionView(
        row.incident_id, row.revision, row.provisional, row.report, row.timeline, row.answer,
        row.created_at,
    )  # fmt: skip
