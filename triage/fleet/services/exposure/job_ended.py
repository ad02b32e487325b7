"""The run that a hook tells of: how a job ended, whatever the end. It opens no incident.

The body is that of the job-failed hook with ``ended_at`` and ``state``, or what Slurm's epilogue
of the controller has in its environment. Without a state the exit code decides: 0 is completed;
a job that was sent SIGTERM may have been cancelled or not, so nothing is said of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.caller import Caller
from triage.domain.job import Job, make_job
from triage.domain.wire import WireForm
from triage.fleet.domain.exposure import (
    AHEAD,
    FIRST,
    MAX_GPUS,
    Ending,
    JobState,
    NodeFacts,
    Run,
    parse_job_state,
)
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.store.record import end_open_run
from triage.services.context import Context
from triage.services.hooks.job_failed import (
    OTHER_NAMES,
    Reader,
    apply_other_names,
    parse_exit_code,
    parse_name,
    parse_nodes,
    parse_time,
)
from triage.services.hooks.times import parse_moment
from triage.store import jobs
from triage.store.access import audit

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    **OTHER_NAMES,
    "ended_at": ("SLURM_JOB_END_TIME", "END", "failed_at"),
    "state": ("SLURM_JOB_STATE", "JOBSTATE", "JobState", "ending"),
}
_SIGTERM: Final = 128 + 15
_FAILED: Final = JobState(Ending.UNEXPECTED)
_CLOCKS_APART: Final = timedelta(minutes=5)
_NO_START: Final = (
    "nobody told when this job started, so it is no exposure: send started_at"
    " (SLURM_JOB_START_TIME), or import what the scheduler keeps"
)


@dataclass(frozen=True, slots=True)
class End:
    """What a job-ended hook says; ``run`` is None where nobody told when it started."""

    job_id: str
    cluster: str
    ended_at: datetime
    state: JobState
    run: Run | None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class EndedJob(WireForm):
    """What became of the end of a job."""

    job_id: str
    cluster: str | None
    ended_at: datetime
    ending: Annotated[Ending, "completed, unexpected, planned or unknown."]
    run: Annotated[str, "new, changed, known; unknown where nobody told its start."]
    note: str | None


def parse_end(raw: Mapping[str, Any], now: datetime, caller: Caller | None = None) -> End:
    """The end that a body reports; one without a time is of now.

    Raises :class:`Unprocessable` with each wrong place, and :class:`NotAllowed` for what the
    token is not to say.
    """
    body = apply_other_names(raw, NAMES)
    reader = Reader(body)
    job_id = reader.read("job_id", parse_name, needed=True)
    cluster = reader.read("cluster", parse_name)
    started_at = reader.read("started_at", parse_time)
    ended_at = reader.read("ended_at", parse_time)
    nodes = reader.read("nodelist", parse_nodes)
    state = reader.read("state", _parse_final_state)
    reader.finish()
    caller = caller or Caller()
    cluster = caller.check(cluster, job_id=job_id)
    ended_at = min(ended_at or now, now)
    state = state or _classify_exit_code(parse_exit_code(body.get("exit_code")))
    facts = make_job({**body, "nodes": body.get("nodes") or nodes or []})
    run = _make_run(
        job_id, cluster or "", facts, started_at=started_at, ended_at=ended_at, state=state
    )
    return End(job_id, cluster or "", ended_at, state, run, caller.key_id)


def keep_job_end(ctx: Context, end: End) -> EndedJob:
    """Keep the end of a job: of the run that it names, else of the one that was going on.

    Said twice it is the same. The answer says what became of it.
    """
    now = read_utc_now()

    def write(session: Session) -> str:
        became = keep(session)
        if became in ("new", "changed"):
            detail = {"cluster": end.cluster, "ending": str(end.state.ending), "run": became}
            audit.note(session, end.key_id or "local", "end job", end.job_id, now, detail)
        return became

    def keep(session: Session) -> str:
        if end.run is not None:
            tally = ExposureWriter(now, end.key_id).keep(session, [end.run], now)
            return "new" if tally.added else "changed" if tally.changed else "known"
        cluster = jobs.cluster_key(session, end.cluster)
        found = end_open_run(
            session, cluster, end.job_id, end.ended_at, end.state.ending, end.key_id
        )
        return "changed" if found else "unknown"

    result = ctx.commit(write)
    note = _NO_START if result == "unknown" else None
    return EndedJob(end.job_id, end.cluster or None, end.ended_at, end.state.ending, result, note)


def _parse_final_state(value: object) -> JobState:
    state = parse_job_state(value) if isinstance(value, str) else None
    if state is None or state.ending == Ending.RUNNING:
        raise ValueError("is no state of a job that has ended, such as COMPLETED or NODE_FAIL")
    return state


def _classify_exit_code(code: int | None) -> JobState:
    if code is None or code == _SIGTERM:
        return JobState(Ending.UNKNOWN)
    return JobState(Ending.COMPLETED if code == 0 else Ending.UNEXPECTED)


def _make_run(
    job_id: str,
    cluster: str,
    job: Job,
    *,
    started_at: datetime | None,
    ended_at: datetime | None,
    state: JobState,
) -> Run | None:
    """The run; None where its start is not known, cannot be, or lies behind its end."""
    if started_at is None or started_at < FIRST or not state.started:
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
        num_gpus=min(job.world_size or len(nodes) * (job.gpus_per_node or 0), MAX_GPUS),
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
    _tell_places(session, writer, job, cluster)
    said = facts.get("state")
    state = (parse_job_state(said) if isinstance(said, str) else None) or _FAILED
    started_at = parse_moment(facts.get("started_at"))
    if max(started_at or now, failed_at or now) > now + AHEAD:
        return
    run = _make_run(job_id, cluster, job, started_at=started_at, ended_at=failed_at, state=state)
    if run is not None:
        writer.keep(session, [run], now)
    elif failed_at is not None:
        key = jobs.cluster_key(session, cluster)
        end_open_run(session, key, job_id, failed_at, state.ending, writer.key_id)


def _tell_places(session: Session, writer: ExposureWriter, job: Job, cluster: str) -> None:
    """Keep which leaf switch each node hangs on, where the job says it."""
    facts = [
        NodeFacts(node, leaf_switch=leaf[:256], cluster=cluster)
        for node, leaf in job.leaf_switch.items()
        if leaf and 0 < len(node) <= 256
    ]
    if facts:
        writer.keep(session, facts, writer.now)
