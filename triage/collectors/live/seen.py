"""What ``/proc`` shows of the processes of this node, as far as this user may read it.

A process that is stuck in the kernel may not let itself be read: each one is read in a thread of
its own, and who does not answer in time is named.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.live.program import run_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triage.collectors.artifact import Deadline

PROC = "/proc"
# The kernel gives an environment of any size; those of training jobs have some 20 KB.
_MAX_ENVIRONMENT, _MAX_SMALL = 1 << 20, 1 << 16
_MAX_COMMAND = 4_096
_READERS = 8
# The flag PF_KTHREAD of the kernel: a thread of its own, without memory or environment.
_KERNEL_THREAD = 0x00200000

# The variables of launchers, schedulers and recorders; no other is kept, since any may be secret.
_KEPT = re.compile(
    r"(RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|GROUP_RANK|MASTER_ADDR|MASTER_PORT"
    r"|TORCHELASTIC_(RUN_ID|RESTART_COUNT|ERROR_FILE)|TORCH_WORKER_SERVER_SOCKET"
    r"|TORCH_(NCCL|HCCL)_DEBUG_INFO_(PIPE_FILE|TEMP_FILE)|TORCH_FR_DUMP_TEMP_FILE"
    r"|NCCL_RAS_(ADDR|ENABLE)|PMIX?_(RANK|SIZE)|MPI_LOCALRANKID"
    r"|OMPI_COMM_WORLD_(RANK|SIZE|LOCAL_RANK|LOCAL_SIZE)"
    r"|SLURM_(JOB_ID|STEP_ID|PROCID|LOCALID|NTASKS|STEP_NUM_TASKS|JOB_NODELIST|JOB_NAME"
    r"|CLUSTER_NAME|RESTART_COUNT)|SLURMD_NODENAME|NODE_NAME"
    r"|RAY_JOB_ID|KUBERNETES_SERVICE_HOST|HOSTNAME|VIRTUAL_ENV|XDG_CACHE_HOME|HOME"
    r"|TRIAGE_(JOB_ID|CLUSTER|LIVE))"
)


class Seen(NamedTuple):
    """One process. ``environment`` is None where it may not be read.

    ``started`` is in clock ticks since the boot: with it a pid that was given again is told.
    ``state`` is the kernel's letter, ``namespace_pid`` the innermost pid where it differs.
    ``switches`` is how often its main thread has gone to sleep by itself: who is stuck does not.
    """

    pid: int
    parent_pid: int
    started: int
    state: str
    name: str
    uid: int
    namespace_pid: int | None
    argv: tuple[str, ...]
    executable: str
    environment: Mapping[str, str] | None
    switches: int | None = None

    @property
    def is_python(self) -> bool:
        """Whether an interpreter of Python runs it, by its program or by how it calls itself."""
        words = (self.executable, *self.argv[:1], self.name)
        names = (os.path.basename(word) for word in words)
        return any(name.startswith(("python", "pypy", "pt_", "ray::")) for name in names)


class ProcessTable(NamedTuple):
    """All processes by pid; ``silent`` are pids whose memory did not answer in time."""

    processes: Mapping[int, Seen]
    silent: tuple[int, ...]

    @property
    def num_closed(self) -> int:
        """Of how many processes the environment may not be read."""
        rows = self.processes.values()
        return sum(one.environment is None and one.state != "Z" for one in rows)


def read_table(deadline: Deadline, proc: str = PROC) -> ProcessTable:
    """All processes that can be read by ``deadline``."""
    pids = sorted(int(name) for name in os.listdir(proc) if name.isascii() and name.isdigit())
    tasks = {pid: (read_process, (pid, proc)) for pid in pids if pid != os.getpid()}
    rows = run_all(tasks, deadline, _READERS)
    found = {pid: row for pid, row in rows.items() if isinstance(row, Seen)}
    return ProcessTable(found, tuple(pid for pid in tasks if pid not in rows))


def read_process(pid: int, proc: str = PROC) -> Seen | None:
    """One process, None where it is gone or only a thread of the kernel."""
    folder = f"{proc}/{pid}"
    stat = read_file(f"{folder}/stat", _MAX_SMALL)
    status = read_file(f"{folder}/status", _MAX_SMALL)
    if stat is None or status is None:
        return None
    # The name stands in parentheses and may hold any byte, also parentheses.
    before, _, after = stat.rpartition(b")")
    fields = after.split()
    if len(fields) < 20:
        return None
    try:
        parent_pid, started = int(fields[1]), int(fields[19])
        if int(fields[6]) & _KERNEL_THREAD:
            return None
    except ValueError:
        return None
    rows = (line.partition(":") for line in status.decode("utf-8", "replace").splitlines())
    known = {name: value.strip() for name, _, value in rows}
    spaces = known.get("NSpid", "").split()
    argv = read_file(f"{folder}/cmdline", _MAX_COMMAND) or b""
    executable = ""
    with suppress(OSError):
        executable = os.readlink(f"{folder}/exe")
    raw = read_file(f"{folder}/environ", _MAX_ENVIRONMENT)
    return Seen(
        pid=pid,
        parent_pid=parent_pid,
        started=started,
        state=fields[0].decode("ascii", "replace"),
        name=before.partition(b"(")[2].decode("utf-8", "replace"),
        uid=_parse_first_number(known.get("Uid", "")) or 0,
        # The pid in the innermost namespace, where there are several.
        namespace_pid=int(spaces[-1]) if len(spaces) > 1 and spaces[-1].isdigit() else None,
        argv=tuple(part.decode("utf-8", "replace") for part in argv.split(b"\0") if part),
        executable=executable,
        environment=None if raw is None else _parse_environment(raw),
        switches=_parse_first_number(known.get("voluntary_ctxt_switches", "")),
    )


def read_file(path: str, max_bytes: int) -> bytes | None:
    """At most ``max_bytes`` from the start of a file, None where it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    parts: list[bytes] = []
    size = 0
    try:
        while size < max_bytes:
            part = os.read(handle, min(1 << 16, max_bytes - size))
            if not part:
                break
            parts.append(part)
            size += len(part)
    except OSError:
        return None
    finally:
        os.close(handle)
    return b"".join(parts)


def _parse_environment(raw: bytes) -> dict[str, str]:
    kept: dict[str, str] = {}
    for row in raw.split(b"\0"):
        name, _, value = row.decode("utf-8", "surrogateescape").partition("=")
        if _KEPT.fullmatch(name) and len(value) <= _MAX_COMMAND:
            kept.setdefault(name, value)
    return kept


def _parse_first_number(text: str) -> int | None:
    word = next(iter(text.split()), "")
    return int(word) if word.isascii() and word.isdigit() else None
