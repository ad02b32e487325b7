"""Runs: listed for people, and ended by a job's last word."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from sqlalchemy import func, select, tuple_, update
from sqlalchemy.orm import Session

from models import Cluster, Run
from triage.domain.category import Category
from triage.domain.wire import UNSENT, Count, SentAs, WireForm
from triage.fleet.domain.exposure import Ending

REPORTED: Final = (
    *(Run.started_at, Run.ended_at, Run.seen_at, Run.ending, Run.cause),
    *(Run.num_nodes, Run.num_gpus),
)
"""What sources report of a run, in the order of its rows everywhere."""


def end_open_run(
    session: Session,
    cluster_id: int,
    job_id: str,
    ended_at: datetime,
    ending: Ending,
    key_id: str | None = None,
) -> bool:
    """End the run of this job that was going on then; whether there was one without an end."""
    run = session.execute(
        select(Run.id, Run.seen_at)
        .where(
            Run.cluster_id == cluster_id,
            Run.job_id == job_id,
            Run.started_at <= ended_at,
            Run.ended_at.is_(None),
        )
        .order_by(Run.started_at.desc())
        .limit(1)
        .with_for_update()
    ).one_or_none()
    if run is None:
        return False
    seen_at = max(run.seen_at, ended_at)
    end = {"ended_at": ended_at, "ending": ending, "seen_at": seen_at, "key_id": key_id}
    session.execute(update(Run).where(Run.id == run.id).values(end))
    return True


@dataclass(frozen=True, slots=True)
class RunView(WireForm):
    """One run; ``ended_at`` is None while no source has reported its end."""

    id: Annotated[int, UNSENT]
    job_id: str
    cluster: Annotated[str, "Empty where nobody named one."]
    started_at: datetime
    ended_at: datetime | None
    seen_at: datetime
    ending: Annotated[str, SentAs(Ending)]
    cause: Annotated[
        str | None,
        SentAs(Category | None),
        "What the scheduler said, before any triage.",
    ]
    num_nodes: Count
    num_gpus: Count
    source: str


def list_runs(
    session: Session,
    *,
    job_id: str | None = None,
    cluster: str | None = None,
    ending: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int = 50,
) -> list[RunView]:
    """Newest start first. Those that lie within the time at least in part.

    ``before`` is the start and the number of the last row already seen.
    """
    query = select(Run.id, Run.job_id, Cluster.name, *REPORTED, Run.source)
    query = query.join(Cluster, Run.cluster_id == Cluster.id)
    if job_id is not None:
        query = query.where(Run.job_id == job_id)
    if cluster is not None:
        query = query.where(Cluster.name == cluster)
    if ending is not None:
        query = query.where(Run.ending == ending)
    if since is not None:
        query = query.where(func.coalesce(Run.ended_at, Run.seen_at) >= since)
    if until is not None:
        query = query.where(Run.started_at < until)
    if before is not None:
        query = query.where(tuple_(Run.started_at, Run.id) < before)
    query = query.order_by(Run.started_at.desc(), Run.id.desc()).limit(limit)
    return [RunView(*row) for row in session.execute(query)]
