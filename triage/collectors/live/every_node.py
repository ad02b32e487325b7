"""All nodes of a job, side by side: each sends its folder as a tar, and they become one.

A node that does not answer is said and costs only itself.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
import time
from typing import TYPE_CHECKING, Any

from triage.collectors.artifact import Deadline
from triage.collectors.live.folder import PullFolder, extract_files, merge_facts, stamp_text
from triage.collectors.live.program import Printed, run_all, run_program
from triage.collectors.live.reach import (
    Reach,
    choose_reach,
    make_agent_zip,
    make_remote_command,
    make_srun_command,
)
from triage.collectors.options import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triage.collectors.live.options import LiveOptions
    from triage.collectors.live.program import Task

# Beside the budget of each node: to reach it, and to bring its files back.
_TRANSFER_S = 15.0
# Connections at a time.
_WIDTH = 64
# The environment that a way to the nodes needs: its configuration, agent and credentials.
_CARRIED = (
    "PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "KUBECONFIG", "KUBERNETES_", "SLURM_",
    "LD_LIBRARY_PATH", "XDG_", "KRB5CCNAME", "MUNGE_",
)  # fmt: skip


def pull_all_nodes(
    options: LiveOptions,
    environment: Mapping[str, str],
    root: str,
    say: Callable[[str], None],
) -> None:
    """Fill ``root`` from all nodes. Raises :class:`Misuse` where none answers, and OSError."""
    reach = choose_reach(options, environment)
    carried = {name: value for name, value in environment.items() if name.startswith(_CARRIED)}
    deadline = Deadline(options.budget_s + _TRANSFER_S)
    arguments = _list_arguments(options)
    with tempfile.TemporaryDirectory(prefix="triage-live-") as scratch:
        if reach.how == "srun":
            answers = _run_by_srun(reach, scratch, arguments, options, carried, deadline)
        else:
            answers = _run_one_by_one(reach, arguments, options, carried, deadline)
        facts, notes = _lay_answers(answers, root, options)
    if not facts:
        raise Misuse(f"no node answered: {notes[0] if notes else 'no tar came back'}")
    for note in notes[:5]:
        say(note)
    merged = merge_facts(facts)
    if options.job:
        merged["job_id"] = options.job
    whole = PullFolder(root, "all", 64 << 20)
    whole.put("job.json", f"{json.dumps(merged, indent=1)}\n".encode())
    if notes:
        row = {"schema": "triage.processes/1", "asked": [], "ranks": [], "notes": notes[:200]}
        name = f"not_reached_{stamp_text(time.time())}.json"
        whole.put(name, f"{json.dumps(row, indent=1)}\n".encode())
    say(f"{len(facts)} of {len(answers)} nodes answered")


def _run_by_srun(
    reach: Reach,
    scratch: str,
    arguments: tuple[str, ...],
    options: LiveOptions,
    environment: Mapping[str, str],
    deadline: Deadline,
) -> dict[str, Printed]:
    argv = make_srun_command(reach, os.path.join(scratch, "%N.tar"), arguments)
    got = run_program(argv, deadline, 1 << 20, environment, make_agent_zip())
    answers = {}
    for name in sorted(os.listdir(scratch)):
        with open(os.path.join(scratch, name), "rb") as file:
            data = file.read(options.max_bytes)
        answers[name[: -len(".tar")]] = Printed(data, "", 0, "")
    if not answers:
        answers["srun"] = Printed(b"", got.errors, got.status, got.why or "it printed nothing")
    return answers


def _run_one_by_one(
    reach: Reach,
    arguments: tuple[str, ...],
    options: LiveOptions,
    environment: Mapping[str, str],
    deadline: Deadline,
) -> dict[str, Printed]:
    more = (deadline, options.max_bytes, environment, make_agent_zip())
    tasks: dict[str, Task] = {
        node: (run_program, (make_remote_command(reach, node, arguments), *more))
        for node in reach.nodes
    }
    results = run_all(tasks, deadline, _WIDTH)
    late = Printed(b"", "", None, "did not answer in time")
    return {
        node: got if isinstance(got := results.get(node), Printed) else late for node in reach.nodes
    }


def _lay_answers(
    answers: Mapping[str, Printed], root: str, options: LiveOptions
) -> tuple[list[dict[str, Any]], list[str]]:
    """``job.json`` of each node that answered, and what is to be said of the others."""
    facts, notes = [], []
    for node, got in answers.items():
        name = node.rpartition("@")[2].rpartition("/")[2]
        folder = PullFolder(root, name, options.max_bytes)
        found: dict[str, Any] = {}
        try:
            if got.data:
                found = extract_files(io.BytesIO(got.data), folder, name)
        except (tarfile.TarError, EOFError) as error:
            notes.append(f"{node}: what came back was cut: {error}")
        if found:
            facts.append(found)
        else:
            words = (got.errors.strip().splitlines() or [got.why or "it sent no folder"])[-1]
            notes.append(f"{node} did not answer: {words[:200]}")
    return facts, notes


def _list_arguments(options: LiveOptions) -> tuple[str, ...]:
    """What the copies of this command on the nodes are told."""
    words = ["--out", "-", "--looks", str(options.looks), "--budget", f"{options.budget_s:g}"]
    words += ["--max-bytes", str(options.max_bytes), "--one-of-many"]
    words += [word for source in options.without for word in ("--without", source)]
    if options.job:
        words += ["--job", options.job]
    if options.cluster:
        words += ["--cluster", options.cluster]
    return tuple(words)
