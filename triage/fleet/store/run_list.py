"""Runs as a list: the newest first, page by page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from models import Cluster, Run
from triage.domain.report import iso_utc
from triage.fleet.store.runs import REPORTED
from triage.statistics.wire import as_wire

__all__ = ["RunView", "listing"]


@dataclass(frozen=True, slots=True)
class RunView:
    """One run; ``ended_at`` is None while no source has reported its end."""

    id: int
    job_id: str
    cluster: str
    started_at: datetime
    ended_at: datetime | None
    seen_at: datetime
    ending: str
    cause: str | None
    num_nodes: int
    num_gpus: int
    source: str

    def to_dict(self) -> dict[str, Any]:
        """A row of ``GET /v1/fleet/runs``."""
        wire = as_wire(self)
        del wire["id"]
        times = ("started_at", "ended_at", "seen_at")
        return wire | {name: iso_utc(wire[name]) for name in times}


def listing(
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
