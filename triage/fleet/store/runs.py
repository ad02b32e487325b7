"""Runs are kept once each, whoever tells of them and in whatever order.

Two who tell of one run (cluster, job, start) complete each other: the larger number of nodes and
GPUs stands. Of the end the one stands that :func:`triage.fleet.domain.exposure.weight` puts higher;
among equals the earlier one, when work had stopped. So the order of files does not matter, and the
same file again changes nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from models import NodeSet, Run
from triage.fleet.domain.exposure import Ending, weight
from triage.fleet.store.merged_rows import Tally, keep_told
from triage.fleet.store.node_sets import SetKey

__all__ = ["NewRun", "keep_runs", "told_end"]

CHUNK: Final = 1000


class NewRun(NamedTuple):
    """A run as it is kept; ``nodes`` is its set, None where nobody named them."""

    cluster: int
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

    @property
    def key(self) -> tuple[int, str, datetime]:
        """What makes two of them the same run."""
        return self.cluster, self.job_id, self.started_at


def keep_runs(session: Session, runs: Iterable[NewRun]) -> Tally:
    """Keep these runs; what was known of them already is completed."""
    return keep_told(
        session, Run, runs, known_among=known_runs, of_two=of_two, columns_of=columns_of
    )


def told_end(
    session: Session, cluster: int, job_id: str, ended_at: datetime, ending: Ending
) -> bool:
    """End the run of this job that was going on then; whether there was one without an end."""
    found = session.execute(
        select(Run.id, Run.seen_at)
        .where(
            Run.cluster_id == cluster,
            Run.job_id == job_id,
            Run.started_at <= ended_at,
            Run.ended_at.is_(None),
        )
        .order_by(Run.started_at.desc())
        .limit(1)
        .with_for_update()
    ).one_or_none()
    if found is None:
        return False
    end = {"ended_at": ended_at, "ending": ending, "seen_at": max(found.seen_at, ended_at)}
    session.execute(update(Run).where(Run.id == found.id).values(end))
    return True


def known_runs(
    session: Session, wanted: Iterable[NewRun]
) -> dict[tuple[int, str, datetime], tuple[int, NewRun]]:
    """Those of these runs that are there, held until the session ends."""
    jobs: dict[int, set[str]] = {}
    keys = set()
    for run in wanted:
        jobs.setdefault(run.cluster, set()).add(run.job_id)
        keys.add(run.key)
    found: dict[tuple[int, str, datetime], tuple[int, NewRun]] = {}
    for cluster in sorted(jobs):
        names = sorted(jobs[cluster])
        for start in range(0, len(names), CHUNK):
            rows = session.execute(
                select(
                    Run.id, Run.cluster_id, Run.job_id, Run.started_at, Run.ended_at, Run.seen_at,
                    Run.ending, Run.cause, Run.num_nodes, Run.num_gpus, Run.source,
                    NodeSet.num_nodes, NodeSet.sha256, NodeSet.id,
                )
                .outerjoin(NodeSet, Run.node_set_id == NodeSet.id)
                .where(Run.cluster_id == cluster, Run.job_id.in_(names[start : start + CHUNK]))
                .order_by(Run.id)
                .with_for_update(of=Run)
            )  # fmt: skip
            for row in rows:
                nodes = None if row[-1] is None else SetKey._make(row[-3:])
                run = NewRun._make([*row[1:10], nodes, row[10]])
                if run.key in keys:
                    found[run.key] = row[0], run
    return found


def of_two(one: NewRun, other: NewRun) -> NewRun:
    """What two rows say of one run; the same whichever comes first."""
    ends = max(one, other, key=standing)
    causes = [cause for cause in (one.cause, other.cause) if cause is not None]
    sets = [nodes for nodes in (one.nodes, other.nodes) if nodes is not None]
    return ends._replace(
        cause=min(causes, default=None),
        seen_at=max(one.seen_at, other.seen_at),
        num_nodes=max(one.num_nodes, other.num_nodes),
        num_gpus=max(one.num_gpus, other.num_gpus),
        nodes=max(sets, default=None),
    )


def standing(run: NewRun) -> tuple[int, bool, float, str]:
    ended_at = run.ended_at
    early = 0.0 if ended_at is None else -ended_at.timestamp()
    return weight(Ending(run.ending)), ended_at is not None, early, run.source


def columns_of(run: NewRun) -> Mapping[str, Any]:
    return {
        "cluster_id": run.cluster,
        "job_id": run.job_id,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "seen_at": run.seen_at,
        "ending": run.ending,
        "cause": run.cause,
        "num_nodes": run.num_nodes,
        "num_gpus": run.num_gpus,
        "node_set_id": None if run.nodes is None else run.nodes.id,
        "source": run.source,
    }
