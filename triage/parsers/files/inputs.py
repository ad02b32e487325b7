"""The files a user points at, in one order however the paths are given.

Nothing is opened here but directories. Names are display text: relative to the
one folder given, or to what several paths have in common.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from triage.domain.file_kind import FileKind
from triage.domain.patterns import compile_re
from triage.domain.report import Refused
from triage.errors import UsageError

# "comm_lib_trace_rank_3", "nccl_trace_rank_gpu07_5", "_dump_12"
_DUMP_NAME = compile_re(r"(trace|dump|rank)[^/]{0,300}[0-9]$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InputFile:
    """One regular file; ``artifact`` is its name in the report.

    ``kind`` is what the service stored it as, None where nobody has looked at it yet.
    """

    path: Path
    artifact: str
    size_bytes: int
    kind: FileKind | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything found: files in the order of their names, and what cannot be opened."""

    files: tuple[InputFile, ...]
    refused: tuple[Refused, ...]


def find_inputs(paths: Sequence[Path]) -> Inputs:
    """All files below ``paths``. Raises :class:`UsageError` for a path that is not there."""
    if not paths:
        raise UsageError("no path given: point at a folder of dumps, for example `incident/`")
    roots = []
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"{path} does not exist: give a folder of dumps, a dump or a tar")
        roots.append(path.absolute())
    base = os.path.commonpath([root if root.is_dir() else root.parent for root in roots])
    found: dict[Path, InputFile] = {}
    refused: dict[str, Refused] = {}
    for root in roots:
        for path, status, why in _walk(root):
            name = os.path.relpath(path, base)
            artifact = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            if why is not None:
                refused[artifact] = Refused(artifact, why)
            elif status is not None:
                found[path] = InputFile(path, artifact, status.st_size)
    files = sorted(found.values(), key=lambda one: one.artifact)
    return Inputs(tuple(files), tuple(sorted(refused.values(), key=lambda one: one.artifact)))


def _walk(root: Path) -> Iterator[tuple[Path, os.stat_result | None, str | None]]:
    """(path, status, None) for a regular file, (path, None, why) for what is not read."""
    folders = [root]
    if not root.is_dir():
        yield _stat_regular(root)
        folders = []
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            yield folder, None, f"the folder cannot be listed: {error.strerror}"
            continue
        if not entries and _DUMP_NAME.search(folder.name):
            yield folder, None, "an empty folder that is named like a dump; no dump is in it"
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            else:
                yield _stat_regular(Path(entry.path))


def _stat_regular(path: Path) -> tuple[Path, os.stat_result | None, str | None]:
    try:
        status = path.stat()
    except OSError as error:
        return path, None, f"cannot be opened: {error.strerror}"
    if stat.S_ISDIR(status.st_mode):
        return path, None, "a link to a folder; links are not followed, give the folder itself"
    if not stat.S_ISREG(status.st_mode):
        return path, None, "not a regular file (a pipe, socket or device)"
    return path, status, None
