"""The folder of a node as a tar, and a tar of another node laid into a folder with distrust."""

from __future__ import annotations

import json
import os
import tarfile
from typing import IO, TYPE_CHECKING, Any

from triage.collectors.files import safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triage.collectors.live.folder import PullFolder

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
                facts = _read_facts(file.read(_MAX_FACTS))
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


def _read_facts(data: bytes) -> dict[str, Any]:
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
