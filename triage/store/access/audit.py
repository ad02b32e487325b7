"""Who changed what."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypedDict, Unpack

from sqlalchemy import exists, select, tuple_
from sqlalchemy.orm import Session

from models import Audit
from triage.domain.wire import UNSENT, WireForm
from triage.store.views import make_view


@dataclass(frozen=True, slots=True)
class AuditView(WireForm):
    """One act."""

    id: Annotated[int, UNSENT]
    at: datetime
    actor: Annotated[str, "Id of the token, or `local`."]
    action: str
    subject: Annotated[str, "Id of what it was done to."]
    detail: dict[str, Any]


class AuditFilter(TypedDict, total=False):
    """What acts are asked for; None is any. ``since`` is a time, UTC."""

    actor: str | None
    action: str | None
    subject: str | None
    since: datetime | None


def note(
    session: Session,
    actor: str,
    action: str,
    subject: str,
    now: datetime,
    detail: Mapping[str, Any] | None = None,
    *,
    once: bool = False,
) -> None:
    """Write down one act, in the transaction that does it.

    ``once``: the first of an actor on a subject alone, for acts that senders repeat.
    """
    same = exists().where(Audit.subject == subject, Audit.actor == actor, Audit.action == action)
    if not (once and session.scalar(select(same))):
        session.add(
            Audit(at=now, actor=actor, action=action, subject=subject, detail=dict(detail or {}))
        )


def list_acts(
    session: Session,
    limit: int = 100,
    *,
    before: tuple[datetime, int] | None = None,
    **wanted: Unpack[AuditFilter],
) -> list[AuditView]:
    """Acts, newest first; ``before`` is the last row already seen."""
    query = select(Audit).order_by(Audit.at.desc(), Audit.id.desc()).limit(limit)
    if before is not None:
        query = query.where(tuple_(Audit.at, Audit.id) < before)
    if (since := wanted.get("since")) is not None:
        query = query.where(Audit.at >= since)
    for column in (Audit.actor, Audit.action, Audit.subject):
        value = wanted.get(column.key)
        if value is not None:
            query = query.where(column == value)
    return [make_view(AuditView, row) for row in session.scalars(query)]
