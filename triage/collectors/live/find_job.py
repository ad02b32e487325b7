"""The one job of this node that is meant, or a sentence that says what to give."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from triage.collectors.live.processes import Job, jobs_of
from triage.collectors.live.seen import PROC, read_table
from triage.collectors.options import Misuse

if TYPE_CHECKING:
    from triage.collectors.deadline import Deadline
    from triage.collectors.live.options import LiveOptions

__all__ = ["find_job"]

SHOWN = 8


def find_job(options: LiveOptions, deadline: Deadline, proc: str = PROC) -> Job:
    """The job. Raises :class:`Misuse` where there is none, or where several fit."""
    table = read_table(deadline, proc)
    if options.pid is not None and options.pid not in table.processes:
        raise Misuse(f"no process {options.pid} runs here, or it did not let itself be read")
    jobs = jobs_of(table, options.pid)
    notes = []
    if table.silent:
        shown = ", ".join(str(pid) for pid in table.silent[:SHOWN])
        notes.append(f"{len(table.silent)} process(es) did not let themselves be read: {shown}")
    chosen = [job for job in jobs if options.job in job.names] if options.job else jobs
    if options.job and not chosen and len(jobs) == 1 and not _is_scheduled(jobs[0]):
        # In a pod nothing says the job's name.
        chosen = [jobs[0]._replace(names=(options.job, *jobs[0].names))]
        notes.append(f"no process names the job {options.job}; the only one here was taken")
    if len(chosen) == 1:
        job = chosen[0]
        return job._replace(notes=(*job.notes, *notes))
    if len(chosen) > 1:
        names = ", ".join(job.job_id for job in chosen[:SHOWN])
        raise Misuse(f"several jobs run here: {names}; give --job ID or --pid PID")
    raise Misuse(_none_found(options, jobs, table.num_closed))


def _is_scheduled(job: Job) -> bool:
    """Whether a scheduler or torchrun gave it a name: another one is another job."""
    run = job.environment.get("TORCHELASTIC_RUN_ID", "")
    return bool(job.environment.get("SLURM_JOB_ID")) or run not in {"", "none"}


def _none_found(options: LiveOptions, jobs: list[Job], num_closed: int) -> str:
    if options.job and jobs:
        names = ", ".join(job.job_id for job in jobs[:SHOWN])
        return f"no process of job {options.job} runs here, but of {names}"
    closed = ""
    if num_closed and os.geteuid() != 0:
        closed = f"; {num_closed} processes of other users cannot be read: be the job's, or root"
    return f"no process here carries a rank{closed}; give --pid PID of the job's first process"
