"""Who is who among the processes of a job on this node: ranks, their workers, launchers.

They are read from ``/proc``, as far as this user may. A process that is stuck in the kernel may not
let itself be read: each one is read in a thread of its own, and who does not answer in time is
named.

The identity is the environment that a process began with. A launcher sets it for its children:
where a descendant has a surer identity of its own, the process is the launcher. A child that
inherited its parent's identity is the rank's worker (a data loader's process, a command).
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.live.program import run_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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


# Where a launcher says the rank: (rank, local rank, world size, ranks of this node), surest first.
_SOURCES = (
    ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("PMIX_RANK", "MPI_LOCALRANKID", "PMIX_SIZE", ""),
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", ""),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", ""),
)
_MAX_RANK = 10_000_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Python's own helpers beside the processes that torch.multiprocessing starts.
_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker",
           "multiprocessing.forkserver")  # fmt: skip


class _Identity(NamedTuple):
    """What an environment says: ``sureness`` is higher where a launcher set all of it."""

    sureness: int
    rank: int
    local_rank: int | None
    world_size: int | None
    local_world_size: int | None
    job: str


class RankProcess(NamedTuple):
    """A rank's process and those below it, by pid. ``rank`` is None where nothing says it."""

    seen: Seen
    rank: int | None
    local_rank: int | None
    workers: tuple[Seen, ...] = ()


class Job(NamedTuple):
    """One job's part of this node. ``names`` are all that it is called; the first is the id.

    ``missing`` are ranks that belong on this node, as their neighbours' environment says, and
    have no process.
    """

    names: tuple[str, ...]
    ranks: tuple[RankProcess, ...]
    launchers: tuple[Seen, ...]
    world_size: int | None
    missing: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def job_id(self) -> str:
        """What it is called in the report."""
        return self.names[0]

    @property
    def environment(self) -> Mapping[str, str]:
        """That of its first rank."""
        return (self.ranks[0].seen.environment if self.ranks else None) or {}


def find_jobs(table: ProcessTable, root: int | None = None) -> list[Job]:
    """The jobs of this node, in the order of their ids; with ``root`` what is below that pid.

    Below a ``root`` whose children carry no rank, its Python children are taken for the ranks in
    the order of their start, as torch.multiprocessing starts them.
    """
    rows = table.processes
    children = group_by_parent(rows.values())
    chosen = (
        dict(rows) if root is None else {one.pid: one for one in walk_tree(root, rows, children)}
    )
    found: dict[str, list[RankProcess]] = defaultdict(list)
    launchers: dict[str, list[Seen]] = defaultdict(list)
    identities = {
        pid: who for pid, one in chosen.items() if (who := _read_identity(one)) is not None
    }
    surest = _find_surest_below(identities, rows)
    claimed: set[int] = set()
    for pid, who in sorted(identities.items()):
        above = identities.get(chosen[pid].parent_pid)
        if above is not None and _is_same(above, who) and chosen[pid].parent_pid in claimed:
            claimed.add(pid)  # inherited: a worker of the rank above
        elif surest.get(pid, 0) > who.sureness:
            launchers[who.job].append(chosen[pid])
        elif not chosen[pid].is_python and _has_python_below(pid, who, identities, children):
            launchers[who.job].append(chosen[pid])  # a shell around the program
        else:
            claimed.add(pid)
            below = tuple(one for one in walk_tree(pid, rows, children) if one.pid != pid)
            found[who.job].append(RankProcess(chosen[pid], who.rank, who.local_rank, below))
    if root is not None and not found:
        return _split_spawned(root, chosen, children)
    return [
        _make_job(name, ranks, launchers[name], identities) for name, ranks in sorted(found.items())
    ]


def _read_identity(seen: Seen) -> _Identity | None:
    """The identity that the environment of a process states, if any."""
    environment = seen.environment or {}
    for position, (rank, local, world, local_world) in enumerate(_SOURCES):
        number = _number(environment.get(rank))
        if number is None:
            continue
        local_rank = _number(environment.get(local))
        # RANK without LOCAL_RANK may be a node's number, which a launcher there reads.
        sureness = 2 * (len(_SOURCES) - position) + (local_rank is not None)
        return _Identity(
            sureness,
            number,
            local_rank,
            _number(environment.get(world)) or None,
            _number(environment.get(local_world)) or None,
            _list_names(environment)[0],
        )
    return None


def _list_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """All that a job may be called, the scheduler's name first."""
    candidates = [environment.get(name, "") for name in ("TRIAGE_JOB_ID", "SLURM_JOB_ID")]
    run = environment.get("TORCHELASTIC_RUN_ID", "")
    candidates.append("" if run == "none" else run)
    candidates.append(environment.get("RAY_JOB_ID", ""))
    meeting = f"{environment.get('MASTER_ADDR', '')}:{environment.get('MASTER_PORT', '')}"
    candidates.append("" if meeting == ":" else meeting)
    candidates.append(environment.get("SLURM_JOB_NAME", ""))
    names = tuple(dict.fromkeys(one for one in candidates if one and one.isprintable()))
    return names or ("unnamed",)


def group_by_parent(rows: Iterable[Seen]) -> dict[int, list[Seen]]:
    """Processes by their parent's pid, in the order of their start."""
    children: dict[int, list[Seen]] = defaultdict(list)
    for one in sorted(rows, key=lambda one: (one.started, one.pid)):
        children[one.parent_pid].append(one)
    return children


def walk_tree(
    root: int, rows: Mapping[int, Seen], children: Mapping[int, list[Seen]]
) -> Iterator[Seen]:
    """``root`` and all below it; each once, whatever a moving table says."""
    waiting, known = [root], set()
    while waiting:
        pid = waiting.pop(0)
        if pid in known:
            continue
        known.add(pid)
        if pid in rows:
            yield rows[pid]
        waiting.extend(one.pid for one in children.get(pid, ()))


def _is_same(one: _Identity, other: _Identity) -> bool:
    return one[1:] == other[1:]


def _find_surest_below(
    identities: Mapping[int, _Identity], rows: Mapping[int, Seen]
) -> dict[int, int]:
    """The highest sureness among the descendants of each process."""
    surest: dict[int, int] = {}
    for pid, who in identities.items():
        at, steps = rows[pid].parent_pid, 0
        while at in rows and steps < 100:
            if surest.get(at, -1) >= who.sureness:
                break
            surest[at] = who.sureness
            at, steps = rows[at].parent_pid, steps + 1
    return surest


def _has_python_below(
    pid: int,
    who: _Identity,
    identities: Mapping[int, _Identity],
    children: Mapping[int, list[Seen]],
) -> bool:
    """Whether a child, or a shell's child, with the same identity is Python."""
    waiting, known = [pid], {pid}
    while waiting:
        for one in children.get(waiting.pop(), ()):
            same = identities.get(one.pid)
            if one.pid in known or same is None or not _is_same(same, who):
                continue
            if one.is_python:
                return True
            known.add(one.pid)
            waiting.append(one.pid)
    return False


def _split_spawned(
    root: int, chosen: Mapping[int, Seen], children: Mapping[int, list[Seen]]
) -> list[Job]:
    """The children of a process that says no rank; the process itself where it has none."""
    if root not in chosen:
        return []
    below = [
        one
        for one in children.get(root, ())
        if one.is_python and not any(helper in word for word in one.argv for helper in _HELPERS)
    ]
    rows = below or [chosen[root]]
    counted = len(below) > 1
    ranks = []
    for number, one in enumerate(rows):
        rank = number if counted else None
        workers = (other for other in walk_tree(one.pid, chosen, children) if other is not one)
        ranks.append(RankProcess(one, rank, rank, tuple(workers)))
    notes = ("ranks are numbered in the order of their start: no process states one",)
    names = _list_names(chosen[root].environment or {})
    names = (f"pid-{root}",) if names == ("unnamed",) else names
    world = len(rows) if counted else None
    return [
        Job(
            names, tuple(ranks), (chosen[root],) if below else (), world, (), notes if below else ()
        )
    ]


def _make_job(
    name: str,
    ranks: list[RankProcess],
    launchers: list[Seen],
    identities: Mapping[int, _Identity],
) -> Job:
    ordered = sorted(ranks, key=lambda one: (one.rank or 0, -one.seen.started, one.seen.pid))
    newest: dict[int | None, RankProcess] = {}
    notes = []
    for one in ordered:
        kept = newest.setdefault(one.rank, one)
        if kept is not one:
            notes.append(
                f"rank {one.rank} has two processes: {kept.seen.pid}, and {one.seen.pid},"
                " which began earlier and is left out"
            )
    who = [identities[one.seen.pid] for one in newest.values()]
    worlds = {one.world_size for one in who if one.world_size is not None}
    world = max(worlds) if worlds else None
    if len(worlds) > 1:
        notes.append(f"ranks disagree on the world size: {sorted(worlds)}")
    environment = next(iter(newest.values())).seen.environment or {}
    missing = _list_missing(who, world, environment.get("MASTER_ADDR", ""))
    return Job(
        (name, *(other for other in _list_names(environment) if other != name)),
        tuple(newest.values()),
        tuple(launchers),
        world,
        missing,
        tuple(notes),
    )


def _list_missing(who: list[_Identity], world: int | None, master: str) -> tuple[int, ...]:
    """The ranks of this node without a process, where the others say which belong here.

    A launcher numbers the ranks of a node in a row: rank less local rank is the same for all.
    """
    here = {one.rank for one in who}
    sizes = {one.local_world_size for one in who}
    first = {one.rank - one.local_rank for one in who if one.local_rank is not None}
    size = next(iter(sizes))
    if len(sizes) == 1 and size is not None and len(first) == 1 and 0 < size <= 1024:
        start = next(iter(first))
        return tuple(rank for rank in range(start, start + size) if rank not in here)
    if master in _LOOPBACK and world is not None and world <= 1024:
        return tuple(rank for rank in range(world) if rank not in here)
    return ()


def _number(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 9:
        return None
    return int(text) if int(text) < _MAX_RANK else None
