"""The run that a hook tells of: a job with its start, its end, and what is known of its nodes."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.domain.job import Job, make_job
from triage.fleet.domain.exposure import Ending, NodeFacts, Run
from triage.fleet.domain.job_states import JobState, parse_job_state
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.store import runs
from triage.services.hooks.times import parse_moment
from triage.store import jobs

_FAILED: Final = JobState(Ending.UNEXPECTED)
_CLOCKS_APART: Final = timedelta(minutes=5)
# A clock that is ahead of ours by more is wrong, and so is what it says.
_AHEAD: Final = timedelta(days=1)
_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MAX_GPUS: Final = 10_000_000


def run_of_job(
    job_id: str,
    cluster: str,
    job: Job,
    *,
    started_at: datetime | None,
    ended_at: datetime | None,
    state: JobState,
) -> Run | None:
    """The run; None where its start is not known, cannot be, or lies behind its end."""
    if started_at is None or started_at < _FIRST or not state.started:
        return None
    if ended_at is not None and ended_at < started_at:
        if started_at - ended_at > _CLOCKS_APART:
            return None
        ended_at = started_at
    nodes = tuple(dict.fromkeys(job.nodes or job.rank_to_node.values()))
    return Run(
        job_id=job_id,
        started_at=started_at,
        ended_at=ended_at,
        ending=state.ending if ended_at is not None else Ending.RUNNING,
        num_nodes=len(nodes),
        num_gpus=min(job.world_size or len(nodes) * (job.gpus_per_node or 0), _MAX_GPUS),
        nodes=nodes,
        cluster=cluster,
        cause=state.cause,
        source="hook",
    )


def tell_failure(
    session: Session,
    writer: ExposureWriter,
    job_id: str,
    facts: Mapping[str, Any],
    *,
    cluster: str,
    failed_at: datetime | None,
) -> None:
    """Keep the run that failed, as far as the facts of its incident tell it.

    A scheduler's word in ``state`` stands above our calling it a failure. Where the start is
    not told, the run of the job that was going on has ended.
    """
    job = make_job(dict(facts))
    now = writer.now
    tell_places(session, writer, job, cluster)
    said = facts.get("state")
    state = (parse_job_state(said) if isinstance(said, str) else None) or _FAILED
    started_at = parse_moment(facts.get("started_at"))
    if max(started_at or now, failed_at or now) > now + _AHEAD:
        return
    run = run_of_job(job_id, cluster, job, started_at=started_at, ended_at=failed_at, state=state)
    if run is not None:
        writer.keep(session, [run], now)
    elif failed_at is not None:
        key = jobs.cluster_key(session, cluster)
        runs.end_open_run(session, key, job_id, failed_at, state.ending, writer.key_id)


def tell_places(session: Session, writer: ExposureWriter, job: Job, cluster: str) -> None:
    """Keep which leaf switch each node hangs on, where the job says it."""
    facts = [
        NodeFacts(node, leaf_switch=leaf[:256], cluster=cluster)
        for node, leaf in job.leaf_switch.items()
        if leaf and 0 < len(node) <= 256
    ]
    if facts:
        writer.keep(session, facts, writer.now)
