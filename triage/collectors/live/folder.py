"""The incident folder that a pull writes: bounded in bytes, in the layout that the reader knows.

``nodes/NODE/look-1/rank_3_pyspy_dump_YYYYmmdd_HHMMSS.txt`` (UTC), the recorders' dumps under
``nodes/NODE/fr/``, who was asked and answered in ``nodes/NODE/look-1/processes_*.json``.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from triage.collectors.files import node_folder, safe_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triage.collectors.live.asked import Question
    from triage.collectors.live.processes import Job

SCHEMA = "triage.processes/1"
_MAX_NOTES = 200


def stamp_text(now: float) -> str:
    """A moment as names of files carry it, in UTC."""
    return time.strftime("%Y%m%d_%H%M%S", time.gmtime(now))


class PullFolder:
    """Files of one node below ``root``, at most ``max_bytes`` in all; for many threads."""

    def __init__(self, root: str, node: str, max_bytes: int) -> None:
        self.root = root
        self.node = node
        self.left_bytes = max_bytes
        self.num_left_out = 0
        self._lock = threading.Lock()

    def write(self, folder: str, name: str, data: bytes) -> bool:
        """``nodes/NODE/FOLDER/NAME``, whole or not at all; whether it is there."""
        return self.put(f"{node_folder(self.node)}/{folder}/{safe_name(name)}", data)

    def put(self, member: str, data: bytes) -> bool:
        """The file ``member``, a safe relative path. Raises OSError for a full disk."""
        with self._lock:
            if len(data) > self.left_bytes:
                self.num_left_out += 1
                return False
            self.left_bytes -= len(data)
        path = os.path.join(self.root, member)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".", dir=os.path.dirname(path))
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        return True


def make_job_facts(job: Job, node: str, cluster: str) -> dict[str, Any]:
    """``job.json``, as far as this node knows it."""
    facts: dict[str, Any] = {
        "job_id": job.job_id,
        "rank_to_node": {
            str(rank): node
            for rank in sorted({one.rank for one in job.ranks if one.rank is not None})
        },
    }
    for rank in job.missing:
        facts["rank_to_node"][str(rank)] = node
    if job.world_size is not None:
        facts["world_size"] = job.world_size
    if cluster:
        facts["cluster"] = cluster
    return facts


def write_processes(
    job: Job, node: str, now: float, asked: Iterable[Question], notes: Iterable[str]
) -> bytes:
    """Who is there, who is not, and what each answered, for the reader of the folder."""
    row: dict[str, Any] = {
        "schema": SCHEMA,
        "node": node,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        "job_id": job.job_id,
        "world_size": job.world_size,
        "missing": list(job.missing),
        "ranks": [
            {
                "rank": one.rank,
                "local_rank": one.local_rank,
                "pid": one.seen.pid,
                "namespace_pid": one.seen.namespace_pid,
                "parent_pid": one.seen.parent_pid,
                "state": one.seen.state,
                "voluntary_switches": one.seen.switches,
                "workers": [
                    {"pid": below.pid, "state": below.state, "name": below.name}
                    for below in one.workers[:64]
                ],
            }
            for one in job.ranks
        ],
        "launchers": [one.pid for one in job.launchers],
        "asked": [_drop_empty(one._asdict()) for one in asked],
        "notes": list(notes)[:_MAX_NOTES],
    }
    return (json.dumps(row, indent=1) + "\n").encode()


def _drop_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    rounded = {name: round(one, 3) if isinstance(one, float) else one for name, one in row.items()}
    return {name: value for name, value in rounded.items() if value not in (None, "")}
