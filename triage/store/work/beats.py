"""Workers and schedulers that run by themselves: which of them go round, and which stand still.

What the table of work tells about those who do it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from models import Work, WorkerBeat
from triage.domain.states import WorkState
from triage.store.database.upsert import insert_missing


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """``running`` rows are held under a live lease; ``last_at`` is the newest act of anybody."""

    running: int
    owners: tuple[str, ...]
    last_at: datetime | None


def read_activity(session: Session, now: datetime) -> WorkerActivity:
    """Who holds work now, and when anybody last took or finished some."""
    held = list(
        session.execute(
            select(Work.owner, func.count())
            .where(Work.state == WorkState.RUNNING, Work.lease_until > now)
            .group_by(Work.owner)
        )
    )
    last = session.scalar(
        select(func.max(Work.updated_at)).where(Work.state.in_([WorkState.RUNNING, WorkState.DONE]))
    )
    return WorkerActivity(
        sum(number for _, number in held), tuple(sorted(str(owner) for owner, _ in held)), last
    )


BEAT_EVERY_S: Final = 10.0
# Several beats: a question to the database may take a while.
_SILENT_AFTER: Final = timedelta(seconds=60)
# A killed process says no more that it ended; for so long a person is to hear of it.
_FORGOTTEN_AFTER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SilentProcess:
    """A process that has not beaten for ``seconds``: it stands still, or was killed."""

    name: str
    seconds: float

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.name} has not been heard for {self.seconds:.0f} s"


def note_beat(session: Session, name: str, now: datetime) -> None:
    """The process ``name`` goes round; who was silent for an hour is forgotten."""
    session.execute(delete(WorkerBeat).where(WorkerBeat.seen_at < now - _FORGOTTEN_AFTER))
    insert_missing(session, WorkerBeat, [{"name": name, "seen_at": now}])
    row = session.get_one(WorkerBeat, name)
    row.seen_at = now


def forget(session: Session, names: Sequence[str]) -> None:
    """They ended."""
    session.execute(delete(WorkerBeat).where(WorkerBeat.name.in_(names)))


def list_names(session: Session, host: str) -> list[str]:
    """The processes of this machine."""
    return list(
        session.scalars(
            select(WorkerBeat.name).where(WorkerBeat.name.endswith(f"@{host}", autoescape=True))
        )
    )


def list_silent(session: Session, now: datetime) -> list[SilentProcess]:
    """Those that have been silent for longer than a minute, and for less than an hour."""
    rows = session.scalars(
        select(WorkerBeat)
        .where(
            WorkerBeat.seen_at < now - _SILENT_AFTER, WorkerBeat.seen_at >= now - _FORGOTTEN_AFTER
        )
        .order_by(WorkerBeat.name)
    )
    return [SilentProcess(row.name, (now - row.seen_at).total_seconds()) for row in rows]


def count_beating(session: Session, now: datetime) -> int:
    """How many go round."""
    return len(
        session.scalars(
            select(WorkerBeat.name).where(WorkerBeat.seen_at >= now - _SILENT_AFTER)
        ).all()
    )
