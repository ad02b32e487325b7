"""A pull: find the job's processes on this node, look at them as often as asked, write a folder.

The looks lie apart by the budget: what did not move between them stands. Only the last asks
the recorders, so that a rank has one dump.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from triage.collectors.artifact import Deadline
from triage.collectors.live.folder import PullFolder, make_job_facts, stamp_text, write_processes
from triage.collectors.live.look import LookPlan, take_look
from triage.collectors.live.processes import PROC, find_jobs, read_table
from triage.collectors.options import Misuse
from triage.collectors.surroundings import find_cluster, find_node_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triage.collectors.artifact import Deadline
    from triage.collectors.live.folder import Question
    from triage.collectors.live.options import LiveOptions
    from triage.collectors.live.processes import Job

# Of the time of one look, for finding the processes.
_FIND_S = 5.0
_LAST_SHARE = 0.45
# Of many nodes, how many ask what answers for the whole job: the first may be the one that hangs.
_ASKING_NODES = 4


def pull(
    options: LiveOptions,
    environment: Mapping[str, str],
    root: str,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Fill the folder ``root``. Raises :class:`Misuse` where no job is found, and OSError."""
    began = time.monotonic()
    whole = Deadline(options.budget_s)
    folder = PullFolder(root, find_node_name(options.node, environment), options.max_bytes)
    job: Job | None = None
    for number in range(1, options.looks + 1):
        # The last look begins where enough of the budget is left for it.
        start_s = (1 - _LAST_SHARE) * options.budget_s * (number - 1) / max(1, options.looks - 1)
        time.sleep(max(0.0, min(began + start_s - time.monotonic(), whole.left_s())))
        last = number == options.looks
        share = 1.0 if last else 0.8 / (options.looks - number + 1)
        deadline = whole.part(share)
        try:
            job, asked = look_once(options, environment, folder, deadline, number, last)
        except Misuse:
            if job is None:
                raise
            say("the job's processes have ended between two looks")
            break
        answered = sum(one.reply == "answered" for one in asked)
        say(f"look {number}: {len(job.ranks)} ranks here, {answered} of {len(asked)} answered")


def look_once(
    options: LiveOptions,
    environment: Mapping[str, str],
    folder: PullFolder,
    deadline: Deadline,
    number: int,
    recorders: bool,
) -> tuple[Job, list[Question]]:
    """Find the job and take one look; its files are ``look-NUMBER``."""
    now = time.time()
    job = find_job(options, deadline.at_most(_FIND_S))
    ranks = [one.rank for one in job.ranks if one.rank is not None]
    plan = LookPlan(
        number,
        options.without,
        recorders,
        not options.one_of_many or not ranks or min(ranks) < _ASKING_NODES * len(job.ranks),
        environment.get("PATH", ""),
    )
    asked = take_look(job, folder, plan, deadline)
    notes = list(job.notes)
    notes += [f"{one.tool}: {one.why}" for one in asked if one.rank is None and one.why]
    if folder.num_left_out:
        notes.append(f"{folder.num_left_out} answers were left out: the folder is full")
    text = write_processes(job, folder.node, now, asked, notes)
    folder.write(f"look-{number}", f"processes_{stamp_text(now)}.json", text)
    cluster = find_cluster(options.cluster, environment)
    facts = json.dumps(make_job_facts(job, folder.node, cluster), indent=1)
    folder.put("job.json", f"{facts}\n".encode())
    return job, asked


_SHOWN = 8


def find_job(options: LiveOptions, deadline: Deadline, proc: str = PROC) -> Job:
    """The job. Raises :class:`Misuse` where there is none, or where several fit."""
    table = read_table(deadline, proc)
    if options.pid is not None and options.pid not in table.processes:
        raise Misuse(f"no process {options.pid} runs here, or it did not let itself be read")
    jobs = find_jobs(table, options.pid)
    notes = []
    if table.silent:
        shown = ", ".join(str(pid) for pid in table.silent[:_SHOWN])
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
        names = ", ".join(job.job_id for job in chosen[:_SHOWN])
        raise Misuse(f"several jobs run here: {names}; give --job ID or --pid PID")
    raise Misuse(_explain_none_found(options, jobs, table.num_closed))


def _is_scheduled(job: Job) -> bool:
    """Whether a scheduler or torchrun gave it a name: another one is another job."""
    run = job.environment.get("TORCHELASTIC_RUN_ID", "")
    return bool(job.environment.get("SLURM_JOB_ID")) or run not in {"", "none"}


def _explain_none_found(options: LiveOptions, jobs: list[Job], num_closed: int) -> str:
    if options.job and jobs:
        names = ", ".join(job.job_id for job in jobs[:_SHOWN])
        return f"no process of job {options.job} runs here, but of {names}"
    closed = ""
    if num_closed and os.geteuid() != 0:
        closed = f"; {num_closed} processes of other users cannot be read: be the job's, or root"
    return f"no process here carries a rank{closed}; give --pid PID of the job's first process"
