"""The recorder's pipe: one byte makes a rank write its flight-recorder dump.

A pipe without a reader blocks whoever opens it, so it is opened without waiting. PyTorch writes
the dump to the file that it always writes; that file is then copied, if it is newer.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from triage.collectors.files import open_regular
from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE, Question
from triage.collectors.live.seen import PROC

if TYPE_CHECKING:
    from triage.collectors.artifact import Deadline
    from triage.collectors.live.processes import RankProcess

_NAME = "pipe"
_MAX_BYTES = 64 << 20
_POLL_S, _QUIET_S = 0.05, 0.3
_PIPES = ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE")
_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
         "TORCH_HCCL_DEBUG_INFO_TEMP_FILE")  # fmt: skip


def find_pipe(one: RankProcess) -> str:
    """The path of a rank's pipe, empty where the job has none."""
    environment = one.seen.environment or {}
    stem = next((environment[name] for name in _PIPES if environment.get(name)), "")
    return f"{stem}{one.rank}.pipe" if stem and one.rank is not None else ""


def dump_by_pipe(one: RankProcess, deadline: Deadline, proc: str = PROC) -> tuple[Question, bytes]:
    """The dump that a rank writes when it is asked; empty where none comes."""
    path, _ = _resolve_path(find_pipe(one), one.seen.pid, proc)
    files = [_resolve_path(stem, one.seen.pid, proc) for stem in _dump_files(one)]
    before = [_get_written(file) for file, _ in files]

    def answer(reply: str, why: str = "") -> Question:
        return Question(_NAME, one.rank, one.seen.pid, reply, why)

    try:
        _poke(path, one.seen.uid)
    except OSError as error:
        nobody = error.errno in {errno.ENXIO, errno.ENOENT}
        why = "the pipe has no reader" if error.errno == errno.ENXIO else error.strerror or "?"
        return answer(UNREACHABLE if nobody else TOOL_FAILED, f"{path}: {why}"), b""
    while not deadline.passed():
        for (file, place), old in zip(files, before):  # noqa: B905 - not in Python 3.9
            new = _get_written(file)
            # Written anew, and for a moment not further: then it is whole.
            if new is not None and new != old and time.time() - new[0] / 1e9 >= _QUIET_S:
                try:
                    return answer(ANSWERED), _read(file, place, one.seen.uid)
                except OSError as error:
                    return answer(TOOL_FAILED, f"{file}: {error.strerror or error}"), b""
        time.sleep(_POLL_S)
    return answer(SILENT, "asked by its pipe, it wrote no dump in time"), b""


def _poke(path: str, uid: int) -> None:
    """One byte into the pipe. Raises OSError; ENXIO where nobody reads it."""
    status = os.stat(path, follow_symlinks=False)
    if not stat.S_ISFIFO(status.st_mode):
        raise OSError(errno.EINVAL, "is no pipe", path)
    if status.st_uid != uid:
        raise OSError(errno.EPERM, "belongs to another user than the process", path)
    handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        same = os.fstat(handle)
        if not stat.S_ISFIFO(same.st_mode) or same.st_uid != uid:
            raise OSError(errno.EINVAL, "is no pipe of the process", path)
        # A full pipe is one that nobody empties: its reader is stuck, and it has been asked.
        with suppress(BlockingIOError):
            os.write(handle, b"1")
    finally:
        os.close(handle)


def _dump_files(one: RankProcess) -> list[str]:
    environment = one.seen.environment or {}
    stems = [environment[name] for name in _FILES if environment.get(name)]
    if not stems:
        cache = environment.get("XDG_CACHE_HOME") or os.path.join(
            environment.get("HOME", "/root"), ".cache"
        )
        stems = [
            os.path.join(cache, "torch", name)
            for name in (
                "comm_lib_trace_rank_",
                "nccl_trace_rank_",
            )
        ] + ["/tmp/nccl_trace_rank_"]
    return [f"{stem}{one.rank}" for stem in stems]


def _resolve_path(path: str, pid: int, proc: str) -> tuple[str, str]:
    """``path`` as this process reaches it, and the part in which no link may be.

    In another root (a container) the path is taken below it, and links in it are not followed:
    they would lead out of it.
    """
    root = f"{proc}/{pid}/root"
    with suppress(OSError):
        if not os.path.samestat(os.stat(root), os.stat("/")):
            under = os.path.normpath(path).lstrip("/")
            return f"{root}/{under}", under
    return path, ""


def _get_written(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _read(path: str, under: str, uid: int) -> bytes:
    """The dump, where it belongs to the process's user. Raises OSError."""
    with os.fdopen(open_regular(path, under=under, owner=uid), "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise OSError(errno.EFBIG, f"more than {_MAX_BYTES:,} bytes", path)
    return data
