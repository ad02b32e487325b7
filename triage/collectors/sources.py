"""The sources: dumps of the flight recorder, what ranks printed, and the kernel log of this node.

A dump is one file per rank, where PyTorch puts it. Logs of the job are where the scheduler or
torchrun put them. Of the kernel's log the journal comes first: it holds what the ring has
overwritten, the boots before this one, and times that do not drift. Then come the ring buffer and
syslog's file.

PyTorch appends the rank to a prefix. The prefix is a variable of the training process,
else ``~/.cache/torch/comm_lib_trace_rank_``, before 2.8 ``/tmp/nccl_trace_rank_``.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
import time
from typing import TYPE_CHECKING

from triage.collectors.artifact import DUMP, JOB_LOG, KERNEL_LOG, Artifact, SearchContext, Skipped
from triage.collectors.capture import capture, program
from triage.collectors.files import Match, node_folder, safe_name, search
from triage.collectors.surroundings import on_network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triage.collectors.artifact import Deadline
    from triage.collectors.surroundings import Surroundings


# The service takes no larger dump.
_MAX_DUMP_BYTES = 64 << 20
# The newer name first, as PyTorch has it.
_PREFIX_VARIABLES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_NAMES = ("comm_lib_trace_rank_*", "nccl_trace_rank_*")
# Without the start of the job: a dump that lay there for longer is not of this job.
_USUAL_AGE_S = 86_400.0
# The clock of a file server is not ours.
_CLOCK_MARGIN_S = 120.0

_LOOK_EVERY_S = 0.5
# A rank writes its dump within a second or two once it has begun.
_QUIET_S = 3.0


class Dumps:
    """Files that are named as PyTorch names dumps, or fit ``--fr``."""

    name = "dumps"

    def poll(self, context: SearchContext) -> Iterator[Artifact | Skipped]:
        """Each dump as ``fr/NAME``, whole or not at all."""
        since = oldest(context, asked=bool(context.options.fr))
        literals = context.options.literals
        for match in search(_patterns(context), context.deadline, since=since, literals=literals):
            if isinstance(match, Skipped):
                yield match
                continue
            name = safe_name(os.path.basename(match.path))
            yield Artifact(
                kind=DUMP,
                member=f"fr/{name}",
                path=match.path,
                max_bytes=_MAX_DUMP_BYTES,
                tail=False,
                owner=context.surroundings.owner,
                named=False,
                shared=is_shared(match.path, context),
                under=match.under,
            )


def _patterns(context: SearchContext) -> tuple[str, ...]:
    """The patterns to look for: those of ``--fr``, else where PyTorch writes."""
    if context.options.fr:
        return context.options.fr
    return usual_patterns(context.surroundings)


def usual_patterns(surroundings: Surroundings) -> tuple[str, ...]:
    """Where PyTorch writes dumps, of all its versions."""
    environment = surroundings.environment
    paths = [
        f"{glob.escape(environment[variable])}*"
        for variable in _PREFIX_VARIABLES
        if environment.get(variable)
    ]
    folders = [os.path.join(home, ".cache") for home in surroundings.homes]
    if environment.get("XDG_CACHE_HOME"):
        folders.insert(0, environment["XDG_CACHE_HOME"])
    for folder in folders:
        paths.extend(os.path.join(glob.escape(folder), "torch", name) for name in _NAMES)
    paths.extend(f"/tmp/{name}" for name in reversed(_NAMES))
    return tuple(dict.fromkeys(paths))


def oldest(context: SearchContext, *, asked: bool) -> float | None:
    """Files last written before this time are of an earlier job; None takes all of them.

    Files that a pattern of the options ``asked`` for are taken whatever their age, unless
    the start of the job is known.
    """
    if context.since is not None:
        return context.since - _CLOCK_MARGIN_S
    return None if asked else time.time() - _USUAL_AGE_S


def wait_until_written(context: SearchContext, deadline: Deadline) -> None:
    """Return when dumps are there and none has grown for a while, or at ``deadline``.

    The watchdogs of the ranks dump one after the other, within a few seconds.
    """
    last: dict[str, tuple[int, float]] = {}
    quiet_since = time.monotonic()
    while not deadline.passed():
        since = oldest(context, asked=bool(context.options.fr))
        now = {
            match.path: (match.status.st_size, match.status.st_mtime)
            for match in search(
                _patterns(context), deadline, since=since, literals=context.options.literals
            )
            if isinstance(match, Match)
        }
        if now != last:
            last, quiet_since = now, time.monotonic()
        elif now and time.monotonic() - quiet_since >= _QUIET_S:
            return
        time.sleep(min(_LOOK_EVERY_S, deadline.left_s()))


# A file on a network file system may be of any node's rank; to send it in this node's name would
# put the rank on the wrong node, and every node of the job would send all of them.


def is_shared(path: str, context: SearchContext) -> bool:
    """Whether ``path`` lies where all nodes see it and does not bear this node's name."""
    if context.options.shared == "own":
        return False
    name = os.path.basename(path)
    if re.search(rf"(?<![A-Za-z0-9]){re.escape(context.surroundings.node)}(?![A-Za-z0-9])", name):
        return False
    return bool(on_network(os.path.dirname(path)))


def explain_left(artifact: Artifact, context: SearchContext) -> str:
    """Why this node does not send a shared ``artifact``; empty where it does."""
    if not artifact.shared or context.options.shared == "send":
        return ""
    if context.options.shared == "skip":
        return "on a network file system, and --shared skip was given"
    if context.surroundings.first is False:
        return "on a network file system; the first node of the job sends it"
    return ""


# Paths that schedulers and launchers hand on, each to one file.
_FILE_VARIABLES = ("SLURM_JOB_STDOUT", "SLURM_JOB_STDERR", "TORCHELASTIC_ERROR_FILE")


class JobLogs:
    """Files that fit ``--logs``, else those that Slurm and torchrun name themselves."""

    name = "job_logs"

    def poll(self, context: SearchContext) -> Iterator[Artifact | Skipped]:
        """Each log as ``nodes/NODE/PATH``, ``PATH`` below the pattern's fixed folder.

        A log that all nodes see is ``PATH`` alone: its lines are not this node's.
        """
        since = oldest(context, asked=bool(context.options.logs))
        folder = node_folder(context.surroundings.node)
        literals = context.options.literals
        for match in search(
            _list_patterns(context), context.deadline, since=since, literals=literals
        ):
            if isinstance(match, Skipped):
                yield match
                continue
            shared = is_shared(match.path, context)
            name = safe_name(match.under)
            yield Artifact(
                kind=JOB_LOG,
                member=f"logs/{name}" if shared else f"{folder}/{name}",
                path=match.path,
                max_bytes=context.options.max_log_bytes,
                tail=True,
                owner=context.surroundings.owner,
                named=False,
                shared=shared,
                under=match.under,
            )


def _list_patterns(context: SearchContext) -> tuple[str, ...]:
    """The patterns to look for: those of ``--logs``, else what the environment names."""
    if context.options.logs:
        return context.options.logs
    environment = context.surroundings.environment
    paths = [
        glob.escape(environment[variable])
        for variable in _FILE_VARIABLES
        if environment.get(variable)
    ]
    folder = environment.get("SLURM_JOB_WORK_DIR")
    if folder and os.path.isabs(folder):
        job = glob.escape(context.surroundings.job_id)
        paths.append(os.path.join(glob.escape(folder), f"slurm-{job}[._-]*"))
    return tuple(dict.fromkeys(paths))


_FILES = ("/var/log/kern.log", "/var/log/messages")
# A journal of many gigabytes is read from its end, and yet may take this long.
COMMAND_S = 15.0
# Errors of the hardware shortly before the job began may explain why it failed.
_BEFORE_S = 3_600.0


class KernelLog:
    """One log of the kernel, as ``nodes/NODE/kernel.log``."""

    name = "kernel_log"

    def poll(self, context: SearchContext) -> Iterator[Artifact | Skipped]:
        """The file that was asked for, else the first way that gives any bytes."""
        if context.options.no_kernel_log:
            return
        if context.options.kernel_log is not None:
            yield _make_artifact(context, context.options.kernel_log, named=True)
            return
        for argv in _list_commands(context):
            path, skipped = _print_kernel_log(argv, context)
            if skipped is not None:
                yield skipped
            if path:
                yield _make_artifact(context, path, named=False)
                return
        for path in _FILES:
            if os.access(path, os.R_OK):
                yield _make_artifact(context, path, named=True)
                return
        yield Skipped("kernel log", "neither journalctl, dmesg nor /var/log/kern.log gives one")


def _list_commands(context: SearchContext) -> Iterator[tuple[str, ...]]:
    """Commands that print the kernel log, the best first; only those that are there."""
    search = context.surroundings.environment.get("PATH", "")
    since = context.since
    start = int(time.time() - _USUAL_AGE_S if since is None else since - _BEFORE_S)
    journal, ring = program("journalctl", search), program("dmesg", search)
    if journal:
        # Not -k, which means this boot alone: a node that fell over has booted since.
        form = ("--quiet", "--no-pager", "-o", "short-iso-precise")
        yield (journal, *form, "--since", f"@{start}", "_TRANSPORT=kernel")
    if ring:
        yield (ring, "--time-format", "iso")
        yield (ring,)


def _print_kernel_log(argv: tuple[str, ...], context: SearchContext) -> tuple[str, Skipped | None]:
    """The scratch file with the output of ``argv``, empty where there is none; and what failed."""
    deadline = context.deadline.part(min(1.0, COMMAND_S / max(context.deadline.left_s(), 0.001)))
    handle, path = tempfile.mkstemp(dir=context.scratch, prefix="kernel-")
    with os.fdopen(handle, "w+b") as scratch:
        got = capture(argv, scratch, context.options.max_log_bytes, deadline)
    skipped = Skipped(" ".join(argv), got.why, usual=not got.size_bytes) if got.why else None
    return path if got.size_bytes else "", skipped


def _make_artifact(context: SearchContext, path: str, *, named: bool) -> Artifact:
    """``path`` as this node's kernel log; never shared, and of any owner."""
    return Artifact(
        kind=KERNEL_LOG,
        member=f"{node_folder(context.surroundings.node)}/kernel.log",
        path=path,
        max_bytes=context.options.max_log_bytes,
        tail=True,
        owner=None,
        named=named,
        shared=False,
    )
