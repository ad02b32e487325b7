"""When the actuator of a cluster stopped, why, and which of its acts proved wrong."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import Action, ActuatorHalt, Audit
from triage.domain.wire import UNSENT, WireForm
from triage.store.database.row_locks import lock_rows
from triage.store.views import view_of

__all__ = ["WRONG", "HaltView", "begin", "end", "is_wrong", "num_wrong", "present", "resumed_at"]

WRONG: Final = "act proved wrong"
"""What the audit trail calls it; each act once."""


@dataclass(frozen=True, slots=True)
class HaltView(WireForm):
    """Since when nothing is done to nodes of the cluster, and why."""

    id: Annotated[int, UNSENT]
    at: datetime
    by: Annotated[str, "`triage` where it stopped itself, else the id of a token."]
    reason: str
    action_id: Annotated[str | None, "The act that proved wrong last."]


def present(session: Session, cluster_id: int) -> HaltView | None:
    """The halt that stands; None where acts are done."""
    query = (
        select(ActuatorHalt)
        .where(ActuatorHalt.cluster_id == cluster_id, ActuatorHalt.ended_at.is_(None))
        .order_by(ActuatorHalt.id)
        .limit(1)
    )
    row = session.scalar(query)
    return None if row is None else view_of(HaltView, row)


def begin(
    session: Session,
    cluster_id: int,
    now: datetime,
    by: str,
    reason: str,
    action_id: str | None = None,
) -> bool:
    """Stop; False where it is stopped already. The cluster is held."""
    if present(session, cluster_id) is not None:
        return False
    session.add(
        ActuatorHalt(
            cluster_id=cluster_id, at=now, by=by, reason=reason, action_id=action_id,
            ended_at=None, ended_by=None,
        )
    )  # fmt: skip
    session.flush()
    return True


def end(session: Session, cluster_id: int, now: datetime, by: str) -> bool:
    """Go on; False where nothing was stopped."""
    query = select(ActuatorHalt).where(
        ActuatorHalt.cluster_id == cluster_id, ActuatorHalt.ended_at.is_(None)
    )
    rows = lock_rows(session, query).all()
    for row in rows:
        row.ended_at, row.ended_by = now, by
    session.flush()
    return bool(rows)


def resumed_at(session: Session, cluster_id: int) -> datetime | None:
    """When a person last let it go on."""
    query = select(func.max(ActuatorHalt.ended_at)).where(ActuatorHalt.cluster_id == cluster_id)
    found: datetime | None = session.scalar(query)
    return found


def is_wrong(session: Session, action_id: str) -> bool:
    """Whether this act has proved wrong."""
    query = select(Audit.id).where(Audit.subject == action_id, Audit.action == WRONG).limit(1)
    return session.scalar(query) is not None


def num_wrong(session: Session, cluster_id: int, since: datetime) -> int:
    """How many acts of the cluster have proved wrong since then."""
    query = (
        select(func.count(Action.id.distinct()))
        .join(Audit, Audit.subject == Action.id)
        .where(Action.cluster_id == cluster_id, Audit.action == WRONG, Audit.at > since)
    )
    return session.scalar(query) or 0
