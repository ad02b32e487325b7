"""Slurm, Kubernetes, Ray, MPI and the shell: what stands around the job and what ended it.

A scheduler that stops a job is a root only when nothing failed before; the node
it names in ``STEP ... ON n`` is the batch node, not a suspect. Ray lists possible
root causes in every message of a dead actor: a list, not a finding.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.signatures.load import load
from triage.signatures.scheduler.exit_codes import SIGNAL_NUMBER, read_exit_code, read_signal
from triage.signatures.severity import ROOT
from triage.signatures.signature import Reading


def cancelled(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Why Slurm ended it; without a reason a person or a failed task did."""
    why = (match["why"] or "").upper()
    fields = {"why": why} if why else {}
    if not why or ("FAILURE" in why and "NODE" not in why):
        return Reading(fields=fields)
    return Reading(role=ROOT, weak="NODE" in why, fields=fields)


_TASK_ENDS = (
    ("out of memory", 137, False),
    ("killed", 137, True),
    ("segmentation fault", 139, True),
    ("bus error", 135, False),
    ("illegal instruction", 132, True),
)


def task_end(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """How srun saw a task end."""
    why = match["why"].lower()
    for text, code, weak in _TASK_ENDS:
        if why.startswith(text):
            return replace(read_exit_code(code), weak=weak)
    if why.startswith("terminated"):
        return Reading(fields={"exit_code": "-15"})
    code_text = re.search(r"exit code (\d{1,3})", why)
    if code_text is None:
        return Reading()
    return replace(read_exit_code(int(code_text[1])), fields={"exit_code": code_text[1]})


def by_signal(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The signal that ended a process, by number or by name."""
    groups = match.groupdict()
    number = groups.get("signal")
    name = (groups.get("signal_name") or "").upper()
    return read_signal(int(number) if number else SIGNAL_NUMBER.get(name, 0))


def container_exit(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """137 of a container is its memory limit until something else claims it."""
    return read_exit_code(int(match["exit_code"]))


_SHELL_ENDS = {"segmentation fault": 11, "bus error": 7, "killed": 9, "illegal instruction": 4}

SIGNATURES = load(
    __name__,
    caught_signal=lambda match, _after: read_signal(int(match["signal"] or match["number"])),
    shell_killed=lambda match, _after: read_signal(
        _SHELL_ENDS.get((match["why"] or match["why2"] or match["why3"]).lower(), 6)
    ),
    ray_memory=lambda match, _after: Reading(weak=bool(match["guess"])),
)
