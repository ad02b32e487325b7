"""What is asked of a process from outside: stacks by py-spy, the recorder's pipe, GPU tools and the
kernel.

py-spy reads the memory of a process, always with ``--nonblocking``: it would stop the process
otherwise. With ``--subprocesses`` the data loader's processes are read too. Local variables are
never asked for: they hold data.

The recorder's pipe: one byte makes a rank write its flight-recorder dump. A pipe without a reader
blocks whoever opens it, so it is opened without waiting. PyTorch writes the dump to the file that
it always writes; that file is then copied, if it is newer.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from triage.collectors.capture import program
from triage.collectors.files import open_regular
from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE, Question
from triage.collectors.live.processes import PROC, read_file
from triage.collectors.live.program import run_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triage.collectors.artifact import Deadline
    from triage.collectors.live.processes import RankProcess, Seen

_PY_SPY = "py_spy"
_MAX_STACKS = 4 << 20
# Symbols are read anew for each process; without them a dump takes 50 ms.
_DUMP_S = 8.0
# A stack that is read while it changes may make no sense to py-spy; the next one does.
_TRIES = 3
_RIGHTS = "needs the right to read its memory: run as root, or with CAP_SYS_PTRACE"


def find_py_spy(search: str, ranks: tuple[RankProcess, ...]) -> tuple[str, str]:
    """The path of py-spy, or an empty one and why: on ``PATH``, else beside the job's Python.

    As root only a program that belongs to root is run from a folder of the job's user.
    """
    found = program("py-spy", search)
    if found is not None:
        return found, ""
    untrusted = ""
    for folder in dict.fromkeys(folder for one in ranks[:8] for folder in _list_folders(one.seen)):
        path = os.path.join(folder, "py-spy")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            if os.geteuid() != 0 or _is_roots(path):
                return path, ""
            untrusted = path
    if untrusted:
        return "", f"{untrusted} belongs to another user and is not run as root"
    return "", "py-spy is neither on PATH nor beside the job's Python: pip install py-spy"


def dump_stacks(py_spy: str, one: RankProcess, deadline: Deadline) -> tuple[Question, bytes]:
    """The stacks of a rank and of the processes below it, as py-spy prints them."""
    argv = (py_spy, "dump", "--nonblocking", "--subprocesses", "--pid", str(one.seen.pid))
    deadline = deadline.at_most(_DUMP_S)
    data, reply, why = b"", SILENT, "no time was left to ask"
    for _ in range(_TRIES):
        if deadline.passed():
            break
        got = run_program(argv, deadline, _MAX_STACKS)
        data = got.data
        if got.status == 0 and data:
            reply, why = ANSWERED, ""
            break
        reply, why = _explain_trouble(got.errors, got.why)
        if reply != TOOL_FAILED or why == _RIGHTS:
            break
    return Question(_PY_SPY, one.rank, one.seen.pid, reply, why), data


def _explain_trouble(errors: str, why: str) -> tuple[str, str]:
    lowered = errors.lower()
    if "permission denied" in lowered or "operation not permitted" in lowered:
        return TOOL_FAILED, _RIGHTS
    if "no such process" in lowered or "no such file or directory" in lowered:
        return UNREACHABLE, "ended while it was asked"
    if "did not end" in why:
        return SILENT, f"py-spy {why}"
    last = errors.strip().splitlines()[-1:] or [why]
    return TOOL_FAILED, f"py-spy: {last[0][:200]}"


def _list_folders(seen: Seen) -> list[str]:
    """Where the program of a process lies: by its first word, its link, its environment."""
    words = [word for word in (*seen.argv[:1], seen.executable) if os.path.isabs(word)]
    folders = [os.path.dirname(word) for word in words]
    home = (seen.environment or {}).get("VIRTUAL_ENV", "")
    return [*folders, os.path.join(home, "bin")] if os.path.isabs(home) else folders


def _is_roots(path: str) -> bool:
    """Whether only root can have put it there: the file and every folder above it are root's."""
    at = os.path.realpath(path)
    while True:
        status = os.stat(at)
        loose = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
        if status.st_uid != 0 or loose:
            return False
        if at == "/":
            return True
        at = os.path.dirname(at)


_PIPE = "pipe"
_MAX_DUMP = 64 << 20
_POLL_S, _QUIET_S = 0.05, 0.3
_PIPE_STEMS = ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE")
_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
         "TORCH_HCCL_DEBUG_INFO_TEMP_FILE")  # fmt: skip


def find_pipe(one: RankProcess) -> str:
    """The path of a rank's pipe, empty where the job has none."""
    environment = one.seen.environment or {}
    stem = next((environment[name] for name in _PIPE_STEMS if environment.get(name)), "")
    return f"{stem}{one.rank}.pipe" if stem and one.rank is not None else ""


def dump_by_pipe(one: RankProcess, deadline: Deadline, proc: str = PROC) -> tuple[Question, bytes]:
    """The dump that a rank writes when it is asked; empty where none comes."""
    path, _ = _resolve_path(find_pipe(one), one.seen.pid, proc)
    files = [_resolve_path(stem, one.seen.pid, proc) for stem in _dump_files(one)]
    before = [_get_written(file) for file, _ in files]

    def answer(reply: str, why: str = "") -> Question:
        return Question(_PIPE, one.rank, one.seen.pid, reply, why)

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
        data = file.read(_MAX_DUMP + 1)
    if len(data) > _MAX_DUMP:
        raise OSError(errno.EFBIG, f"more than {_MAX_DUMP:,} bytes", path)
    return data


_MAX_TOOL = 8 << 20
# A driver that hangs holds its tool in the kernel.
_TOOL_S = 8.0
_FIELDS = ("timestamp", "index", "uuid", "pci.bus_id", "pstate", "utilization.gpu",
          "utilization.memory", "power.draw", "power.limit", "clocks.current.sm",
          "temperature.gpu")  # fmt: skip
GPU_TOOLS = (
    ("nvidia-smi", (f"--query-gpu={','.join(_FIELDS)}", "--format=csv"), "csv"),
    ("amd-smi", ("metric", "--usage", "--power", "--json"), "json"),
)


def state_by(name: str, argv: tuple[str, ...], deadline: Deadline) -> tuple[Question, bytes]:
    """What the tool prints."""
    got = run_program(argv, deadline.at_most(_TOOL_S), _MAX_TOOL)
    reply = ANSWERED if got.status == 0 else SILENT if got.status is None else TOOL_FAILED
    why = "" if reply == ANSWERED else f"{name} {got.why}"
    return Question(name, None, None, reply, why), got.data


# So that no port is asked that is not the job's, and no process that did not open a server of its
# own accord: a stray request to NCCL's or gloo's listeners could do harm.

_MAX_TABLE = 32 << 20
_MAX_FILES = 20_000
_LISTEN = "0A"
_SOCKET = re.compile(r"socket:\[([0-9]{1,20})\]")


def find_listening(pids: Iterable[int], proc: str = PROC) -> dict[int, int]:
    """Ports of this network namespace by which of ``pids`` listens there."""
    by_inode = {}
    for table in ("tcp", "tcp6"):
        data = read_file(f"{proc}/self/net/{table}", _MAX_TABLE) or b""
        for row in data.decode("ascii", "replace").splitlines()[1:]:
            fields = row.split()
            if len(fields) > 9 and fields[3] == _LISTEN:
                by_inode[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    ports: dict[int, int] = {}
    for pid in pids:
        for inode in _list_sockets(pid, proc):
            if inode in by_inode:
                ports.setdefault(by_inode[inode], pid)
    return ports


def is_same_network(pid: int, proc: str = PROC) -> bool:
    """Whether a process is in the network namespace of this one, where ports mean the same."""
    try:
        return os.readlink(f"{proc}/{pid}/ns/net") == os.readlink(f"{proc}/self/ns/net")
    except OSError:
        return True


def _list_sockets(pid: int, proc: str) -> list[str]:
    found = []
    with suppress(OSError):
        for number, name in enumerate(os.scandir(f"{proc}/{pid}/fd")):
            if number > _MAX_FILES:
                break
            with suppress(OSError):
                match = _SOCKET.fullmatch(os.readlink(name.path))
                if match is not None:
                    found.append(match[1])
    return found


# It is read without the process, which may be stopped or stuck in the kernel.

_KERNEL = "proc"
_PARTS = ("status", "wchan", "stack", "syscall")
_MAX_TASK_BYTES = 1 << 16
# The rows of ``status`` that say who it is and how it fares.
_STATUS = ("Name", "State", "Tgid", "Pid", "PPid", "TracerPid", "NSpid", "VmRSS", "Threads",
          "SigQ", "SigCgt", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")  # fmt: skip


def read_kernel_view(one: RankProcess, proc: str = PROC) -> tuple[Question, bytes]:
    """The parts of ``/proc/PID`` of a rank, each below ``== NAME``."""
    text = read_proc_files(one.seen.pid, proc)
    reply = ANSWERED if text else UNREACHABLE
    why = "" if text else "ended while it was asked"
    return Question(_KERNEL, one.rank, one.seen.pid, reply, why), text.encode("utf-8", "replace")


def read_proc_files(pid: int, proc: str = PROC) -> str:
    """The text for one process, empty where it is gone."""
    folder = f"{proc}/{pid}"
    rows = []
    for part in _PARTS:
        data = read_file(f"{folder}/{part}", _MAX_TASK_BYTES)
        if data is None:
            continue
        text = data.decode("utf-8", "replace").strip("\0\n ")
        if part == "status":
            text = "\n".join(row for row in text.splitlines() if row.partition(":")[0] in _STATUS)
        if text:
            rows.append(f"== {part}\n{text}\n")
    return "".join(rows) if rows and rows[0].startswith("== status") else ""


def list_missing_rights(ranks: Sequence[RankProcess], proc: str = PROC) -> Iterable[Question]:
    """That the kernel's stacks may not be read, once for the node."""
    for one in ranks[:1]:
        path = f"{proc}/{one.seen.pid}/stack"
        if os.path.exists(path) and read_file(path, 64) is None:
            yield Question(
                "kernel_stack", None, None, TOOL_FAILED,
                "the kernel's stacks are for root alone; wchan and state are read",
            )  # fmt: skip
