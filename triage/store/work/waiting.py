"""Work that waits for our surroundings: as long as it takes, whatever it is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from models import Artifact, Upload, Work
from triage.domain.states import ArtifactState, WorkKind, WorkState
from triage.store.views import WorkView
from triage.store.work.table import list_held

# Seconds until our surroundings are asked again, doubled each time up to half a minute: what
# waits is done some minutes after they are back.
_MOST_WAIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """So many pieces of work, or files, wait for a part of our surroundings."""

    part: str
    number: int
    since: datetime

    def words(self, thing: str) -> str:
        """As a clause; ``thing`` is what is counted, in the singular."""
        things = thing.replace("piece", "pieces", 1) if "piece" in thing else f"{thing}s"
        many = f"{self.number:,} {thing if self.number == 1 else things}"
        verb = "waits" if self.number == 1 else "wait"
        return f"{many} {verb} for {self.part} since {self.since:%Y-%m-%d %H:%M}Z"


def put_off(
    session: Session, works: Sequence[WorkView], owner: str, now: datetime, error: str, part: str
) -> None:
    """Not done, because ``part`` of our surroundings is not there: tried again as often as it
    takes, and no try is counted. Rows that were lost before stay as they are.
    """
    for row in list_held(session, works, owner):
        row.waits += 1
        row.tries -= 1  # that of this claim
        row.waiting_for = part
        row.waiting_since = row.waiting_since or now
        row.last_error = error[:2000]
        row.state = WorkState.WAITING
        row.owner = row.lease_until = None
        again_s = min(_MOST_WAIT_S, 2.0 ** min(row.waits, 16))
        row.not_before = min(row.not_before, now + timedelta(seconds=again_s))
        row.updated_at = now


def release(session: Session, part: str, now: datetime) -> None:
    """``part`` of our surroundings answers again: what waits for it is due."""
    waits = (
        select(Work.id)
        .where(Work.state == WorkState.WAITING, Work.not_before > now, Work.waiting_for == part)
        .order_by(Work.id)
        .with_for_update(skip_locked=True)
    )
    session.execute(
        update(Work)
        .where(Work.id.in_(waits))
        .values(not_before=now)
        .execution_options(synchronize_session=False)
    )


def count_waiting(session: Session) -> list[WaitingFor]:
    """Pieces of work that wait, by what they wait for."""
    rows = session.execute(
        select(Work.waiting_for, func.count(), func.min(Work.waiting_since))
        .where(Work.state.in_([WorkState.WAITING, WorkState.RUNNING]))
        .where(Work.waiting_for.is_not(None))
        .group_by(Work.waiting_for)
        .order_by(Work.waiting_for)
    )
    return [_make_waiting(*row) for row in rows]


def count_by_incident(session: Session, incident_id: str) -> list[WaitingFor]:
    """Files of an incident that wait to be read, by what they wait for."""
    rows = session.execute(
        select(Work.waiting_for, func.count(), func.min(Work.waiting_since))
        .select_from(Artifact)
        .join(Upload, Upload.id == Artifact.upload_id)
        .join(Work, Work.key == Upload.id)
        .where(Artifact.incident_id == incident_id, Artifact.state == ArtifactState.STORED)
        .where(Work.kind == WorkKind.PARSE, Work.waiting_for.is_not(None))
        .group_by(Work.waiting_for)
        .order_by(Work.waiting_for)
    )
    return [_make_waiting(*row) for row in rows]


def _make_waiting(part: str | None, number: int, since: datetime | None) -> WaitingFor:
    assert part is not None
    assert since is not None
    return WaitingFor(part, number, since)
