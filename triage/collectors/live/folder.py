"""The incident folder that a pull writes: bounded in bytes, in the layout that the reader knows.

``nodes/NODE/look-1/rank_3_pyspy_dump_YYYYmmdd_HHMMSS.txt`` (UTC), the recorders' dumps under
``nodes/NODE/fr/``, who was asked and answered in ``nodes/NODE/look-1/processes_*.json``.

Absence is evidence only of who was asked: answered, silent, nobody there and a tool that failed are
kept apart, and what was not asked stands among the notes. A tar of another node is laid into a
folder with distrust.
"""

from __future__ import annotations

import json
import os
import tarfile
import tempfile
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from triage.collectors.files import node_folder, safe_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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


_MAX_MEMBERS = 100_000
_MAX_FACTS = 4 << 20


def list_files(root: str) -> Iterator[tuple[str, str]]:
    """Relative and whole path of each regular file, in one order."""
    for folder, below, names in os.walk(root):
        below.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, root), path


def write_tar(root: str, target: IO[bytes]) -> None:
    """All files below ``root``; raises OSError where ``target`` is gone."""
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for member, path in list_files(root):
            header = tarfile.TarInfo(member)
            status = os.stat(path)
            header.size, header.mode, header.mtime = status.st_size, 0o600, int(status.st_mtime)
            with open(path, "rb") as file:
                tar.addfile(header, file)
    target.flush()


def extract_files(source: IO[bytes], folder: PullFolder, node: str) -> dict[str, Any]:
    """Lay the files that a node sent below ``nodes/NODE`` of ``folder``; its ``job.json``.

    Whatever the members are called, they land in this node's own folder, and only plain files
    do. Raises tarfile.TarError for what is no tar, after what came before was laid.
    """
    facts: dict[str, Any] = {}
    with tarfile.open(fileobj=source, mode="r|") as tar:
        for number, member in enumerate(tar):
            if number > _MAX_MEMBERS:
                break
            file = tar.extractfile(member) if member.isreg() else None
            if file is None or member.size > folder.left_bytes:
                folder.num_left_out += member.isreg()
                continue
            if member.name == "job.json" and member.size <= _MAX_FACTS:
                with suppress(ValueError, RecursionError):
                    row = json.loads(file.read(_MAX_FACTS))
                    facts = row if isinstance(row, dict) else {}
                continue
            parts = [part for part in member.name.split("/") if part not in {"", ".", ".."}]
            own = parts[2:] if parts[:1] == ["nodes"] else parts
            if own:
                name = "/".join(safe_name(part) for part in own[-4:])
                folder.put(f"nodes/{safe_name(node.replace('/', '%2F'))}/{name}", file.read())
    return facts


def merge_facts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """``job.json`` of the whole job, from those of its nodes."""
    merged: dict[str, Any] = {}
    places: dict[str, str] = {}
    for row in rows:
        ranks = row.get("rank_to_node")
        places.update(ranks if isinstance(ranks, dict) else {})
        for name in ("job_id", "cluster", "world_size"):
            if name in row:
                merged.setdefault(name, row[name])
    merged["rank_to_node"] = dict(sorted(places.items(), key=lambda one: (len(one[0]), one[0])))
    return merged


ANSWERED = "answered"
SILENT = "silent"
UNREACHABLE = "unreachable"
TOOL_FAILED = "tool_failed"


class Question(NamedTuple):
    """One question to one process. ``why`` is a clause, empty where it was answered.

    ``rank`` is None for a process or a node that has none. ``seconds`` is how long it took.
    """

    tool: str
    rank: int | None
    pid: int | None
    reply: str
    why: str = ""
    seconds: float = 0.0
