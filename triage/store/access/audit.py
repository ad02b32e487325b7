"""Who changed what."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import Audit

__all__ = ["listing", "note"]


def note(
    session: Session,
    actor: str,
    action: str,
    subject: str,
    now: datetime,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write down one act, in the transaction that does it."""
    session.add(
        Audit(at=now, actor=actor, action=action, subject=subject, detail=dict(detail or {}))
    )


def listing(session: Session, limit: int = 100) -> list[tuple[datetime, str, str, str]]:
    """(time, actor, action, subject), newest first."""
    rows = session.scalars(select(Audit).order_by(Audit.at.desc(), Audit.id.desc()).limit(limit))
    return [(row.at, row.actor, row.action, row.subject) for row in rows]
