"""Runs, each stored once, whichever sources report it and in whatever order.

Two reports of one run (cluster, job, start) complete each other: the larger number of nodes and
GPUs stands. The end stands that :func:`triage.fleet.domain.exposure.weigh_ending` puts higher;
among equals the earlier one, when work had stopped. So neither the order of files nor a repeat of
one changes the result.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

from sqlalchemy import func, select, tuple_, update
from sqlalchemy.orm import Session

from models import Cluster, NodeSet, Run
from triage.domain.category import Category
from triage.domain.wire import UNSENT, Count, SentAs, WireForm
from triage.fleet.domain.exposure import Ending, weigh_ending
from triage.fleet.store.merged_rows import Tally, keep_merged
from triage.fleet.store.node_sets import SetKey

_CHUNK: Final = 1000
REPORTED: Final = (
    *(Run.started_at, Run.ended_at, Run.seen_at, Run.ending, Run.cause),
    *(Run.num_nodes, Run.num_gpus),
)
"""What sources report of a run, in the order of its rows everywhere."""


class NewRun(NamedTuple):
    """A run before it is stored; ``nodes`` is its set, None where no source names them.

    ``key_id`` is the token that told the end that stands.
    """

    cluster_id: int
    job_id: str
    started_at: datetime
    ended_at: datetime | None
    seen_at: datetime
    ending: str
    cause: str | None
    num_nodes: int
    num_gpus: int
    nodes: SetKey | None
    source: str
    key_id: str | None = None

    @property
    def key(self) -> tuple[int, str, datetime]:
        """What makes two of them the same run."""
        return self.cluster_id, self.job_id, self.started_at


def keep_runs(session: Session, runs: Iterable[NewRun]) -> Tally:
    """Store these runs; stored ones are completed."""
    return keep_merged(
        session, Run, runs, stored_among=_load_stored_runs, merge=_merge, columns_of=_build_columns
    )


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


def _load_stored_runs(
    session: Session, wanted: Iterable[NewRun]
) -> dict[tuple[int, str, datetime], tuple[int, NewRun]]:
    """Those of these runs that are stored, locked until the session ends."""
    jobs: dict[int, set[str]] = {}
    keys = set()
    for run in wanted:
        jobs.setdefault(run.cluster_id, set()).add(run.job_id)
        keys.add(run.key)
    nodes = (NodeSet.num_nodes, NodeSet.sha256, NodeSet.id)
    query = (
        select(Run.id, Run.cluster_id, Run.job_id, *REPORTED, Run.source, Run.key_id, *nodes)
        .outerjoin(NodeSet, Run.node_set_id == NodeSet.id)
        .order_by(Run.id)
        .with_for_update(of=Run)
    )
    found: dict[tuple[int, str, datetime], tuple[int, NewRun]] = {}
    for cluster_id in sorted(jobs):
        names = sorted(jobs[cluster_id])
        for start in range(0, len(names), _CHUNK):
            chunk = Run.job_id.in_(names[start : start + _CHUNK])
            for row in session.execute(query.where(Run.cluster_id == cluster_id, chunk)):
                row_id, *values, source, key_id, num_nodes, sha256, set_id = row
                node_set = None if set_id is None else SetKey(num_nodes, sha256, set_id)
                run = NewRun._make([*values, node_set, source, key_id])
                if run.key in keys:
                    found[run.key] = row_id, run
    return found


def _merge(one: NewRun, other: NewRun) -> NewRun:
    """What two rows say of one run; the same whichever comes first."""
    ends = max(one, other, key=_rank_end)
    causes = [cause for cause in (one.cause, other.cause) if cause is not None]
    sets = [nodes for nodes in (one.nodes, other.nodes) if nodes is not None]
    return ends._replace(
        cause=min(causes, default=None),
        seen_at=max(one.seen_at, other.seen_at),
        num_nodes=max(one.num_nodes, other.num_nodes),
        num_gpus=max(one.num_gpus, other.num_gpus),
        nodes=max(sets, default=None),
    )


def _rank_end(run: NewRun) -> tuple[int, bool, float, str]:
    ended_at = run.ended_at
    early = 0.0 if ended_at is None else -ended_at.timestamp()
    return weigh_ending(Ending(run.ending)), ended_at is not None, early, run.source


def _build_columns(run: NewRun) -> Mapping[str, Any]:
    columns = run._asdict()
    nodes: SetKey | None = columns.pop("nodes")
    return {**columns, "node_set_id": None if nodes is None else nodes.id}


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
