"""Runs as a list: the newest first, page by page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from models import Cluster, Run
from triage.domain.category import Category
from triage.domain.wire import UNSENT, Count, SentAs, WireForm
from triage.fleet.domain.exposure import Ending
from triage.fleet.store.runs import REPORTED


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
