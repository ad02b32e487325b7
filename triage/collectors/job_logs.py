"""Logs of the job: what its ranks printed, where the scheduler or torchrun put it."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from triage.collectors.artifact import JOB_LOG, Artifact, SearchContext, Skipped
from triage.collectors.dumps import is_shared, oldest
from triage.collectors.files import node_folder, safe_name, search

if TYPE_CHECKING:
    from collections.abc import Iterator


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
