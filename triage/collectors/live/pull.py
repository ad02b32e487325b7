"""A pull: find the job's processes on this node, look at them as often as asked, write a folder.

The looks lie apart by the budget: what did not move between them stands. Only the last asks
the recorders, so that a rank has one dump.
"""

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.deadline import Deadline
from triage.collectors.live.find_job import find_job
from triage.collectors.live.folder import PullFolder, job_facts, processes_text, stamp_text
from triage.collectors.live.look import LookPlan, take_look
from triage.collectors.options import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triage.collectors.live.asked import Question
    from triage.collectors.live.options import LiveOptions
    from triage.collectors.live.processes import Job

__all__ = ["Pulled", "look_once", "node_name", "pull"]

# Of the time of one look, for finding the processes.
FIND_S = 5.0
LAST_SHARE = 0.45
# Of many nodes, how many ask what answers for the whole job: the first may be the one that hangs.
ASKING_NODES = 4


class Pulled(NamedTuple):
    """What came of it; ``asked`` is of the last look."""

    job: Job
    asked: tuple[Question, ...]
    seconds: float


def pull(
    options: LiveOptions,
    environment: Mapping[str, str],
    root: str,
    say: Callable[[str], None] = lambda _: None,
) -> Pulled:
    """Fill the folder ``root``. Raises :class:`Misuse` where no job is found, and OSError."""
    began = time.monotonic()
    whole = Deadline(options.budget_s)
    folder = PullFolder(root, node_name(options, environment), options.max_bytes)
    job: Job | None = None
    asked: list[Question] = []
    for number in range(1, options.looks + 1):
        # The last look begins where enough of the budget is left for it.
        start_s = (1 - LAST_SHARE) * options.budget_s * (number - 1) / max(1, options.looks - 1)
        time.sleep(max(0.0, min(began + start_s - time.monotonic(), whole.left_s())))
        last = number == options.looks
        share = 1.0 if last else 0.8 / (options.looks - number + 1)
        deadline = whole.part(min(1.0, share))
        try:
            job, asked = look_once(options, environment, folder, deadline, number, last)
        except Misuse:
            if job is None:
                raise
            say("the job's processes have ended between two looks")
            break
        answered = sum(one.reply == "answered" for one in asked)
        say(f"look {number}: {len(job.ranks)} ranks here, {answered} of {len(asked)} answered")
    assert job is not None
    return Pulled(job, tuple(asked), time.monotonic() - began)


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
    job = find_job(options, deadline.part(min(1.0, FIND_S / max(deadline.left_s(), 0.01))))
    plan = LookPlan(
        number,
        options.without,
        recorders,
        not options.one_of_many or _is_among_first(job),
        environment.get("PATH", ""),
    )
    asked = take_look(job, folder, plan, deadline)
    notes = list(job.notes)
    notes += [f"{one.tool}: {one.why}" for one in asked if one.rank is None and one.why]
    if folder.num_left_out:
        notes.append(f"{folder.num_left_out} answers were left out: the folder is full")
    text = processes_text(job, folder.node, now, asked, notes)
    folder.write(f"look-{number}", f"processes_{stamp_text(now)}.json", text)
    cluster = options.cluster or environment.get("TRIAGE_CLUSTER", "")
    cluster = cluster or environment.get("SLURM_CLUSTER_NAME", "")
    facts = json.dumps(job_facts(job, folder.node, cluster), indent=1)
    folder.put("job.json", f"{facts}\n".encode())
    return job, asked


def node_name(options: LiveOptions, environment: Mapping[str, str]) -> str:
    """How the scheduler calls this node, else its host name up to the first dot."""
    name = options.node or environment.get("SLURMD_NODENAME") or environment.get("NODE_NAME")
    name = name or socket.gethostname().partition(".")[0]
    if not name.isprintable() or len(name) > 256:
        raise Misuse("--node must have 1 to 256 characters, without control characters")
    return name


def _is_among_first(job: Job) -> bool:
    ranks = [one.rank for one in job.ranks if one.rank is not None]
    return not ranks or min(ranks) < ASKING_NODES * max(1, len(job.ranks))
