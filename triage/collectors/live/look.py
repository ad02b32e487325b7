"""One look: every source is asked at the same time, within a deadline.

What is slow or silent costs only itself: the other answers are written as they come.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.capture import program
from triage.collectors.live.debug_server import (
    FRONTEND_PORT,
    HANDLERS,
    MAX_PAGE,
    ask_debug_server,
    find_addresses,
    parse_ports,
)
from triage.collectors.live.exchange import ask_ras_status, find_ras_address, post
from triage.collectors.live.folder import (
    ANSWERED,
    SILENT,
    TOOL_FAILED,
    UNREACHABLE,
    Question,
    stamp_text,
)
from triage.collectors.live.pipe import dump_by_pipe, find_pipe
from triage.collectors.live.program import run_all, run_program
from triage.collectors.live.seen import PROC, read_file
from triage.collectors.live.stacks import dump_stacks, find_py_spy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triage.collectors.artifact import Deadline
    from triage.collectors.live.debug_server import ServerHandler
    from triage.collectors.live.exchange import Address
    from triage.collectors.live.folder import PullFolder
    from triage.collectors.live.processes import Job, RankProcess
    from triage.collectors.live.program import Task

# Threads that wait for answers. Programs of our own run two for each core at most.
_WIDTH = 64
_MAX_WORKERS = 16


class LookPlan(NamedTuple):
    """What is asked in a look. ``recorders`` is whether ranks write their dumps now.

    ``whole_job`` is whether sources that answer for all nodes are asked here.
    """

    number: int
    without: tuple[str, ...]
    recorders: bool
    whole_job: bool
    search: str


# How the text of py-spy and of faulthandler begins.
_STACKS = (b"Process ", b"Thread 0x", b"Current thread 0x")


def take_look(job: Job, folder: PullFolder, plan: LookPlan, deadline: Deadline) -> list[Question]:
    """Ask, and write what comes; who answered what."""
    now = time.time()
    writer = _Writer(folder, plan, stamp_text(now))
    asked: list[Question] = []
    here = tuple(one for one in job.ranks if _is_same_network(one.seen.pid))
    programs: dict[tuple[str, object], Task] = {}
    waits: dict[tuple[str, object], Task] = {}
    if "proc" not in plan.without:
        waits.update({("proc", one.seen.pid): (writer.kernel, (one,)) for one in job.ranks})
        asked.extend(_list_missing_rights(job.ranks))
    if "py-spy" not in plan.without:
        py_spy, why = find_py_spy(plan.search, job.ranks)
        if py_spy:
            programs.update({
                ("py_spy", one.seen.pid): (writer.stacks, (py_spy, one, deadline))
                for one in job.ranks
            })  # fmt: skip
        else:
            asked.append(Question("py_spy", None, None, TOOL_FAILED, why))
    if "gpu" not in plan.without:
        for name, argv, ending in _list_gpu_tools(plan.search):
            waits[(name, None)] = (writer.gpus, (name, argv, ending, deadline))
    if "pipe" not in plan.without and plan.recorders:
        waits.update({
            ("pipe", one.seen.pid): (writer.pipe, (one, deadline))
            for one in job.ranks if find_pipe(one)
        })  # fmt: skip
    if here and {"debug-server", "ras"} - set(plan.without):
        waits[("servers", None)] = (writer.servers, (job, here, deadline))
    tasks: dict[tuple[str, object], Task] = {**waits, **programs}
    width = len(waits) if len(waits) < _WIDTH else _WIDTH
    results = run_all(tasks, deadline, width + 2 * (os.cpu_count() or 1))
    by_pid = {one.seen.pid: one.rank for one in job.ranks}
    for key in tasks:
        got = results.get(key)
        tool, pid = key[0], key[1] if isinstance(key[1], int) else None
        rank = by_pid.get(pid) if pid is not None else None
        if isinstance(got, list):
            asked.extend(got)
        elif isinstance(got, Exception):
            asked.append(
                Question(tool, rank, pid, TOOL_FAILED, f"{type(got).__name__}: {got}"[:200])
            )
        else:
            asked.append(Question(tool, rank, pid, SILENT, "no answer in time"))
    return asked


class _Writer:
    """Asks one source each and writes its answer into the folder of this look."""

    def __init__(self, folder: PullFolder, plan: LookPlan, stamp: str) -> None:
        self.folder = folder
        self.plan = plan
        self.stamp = stamp

    def kernel(self, one: RankProcess) -> list[Question]:
        """The rank's, and those of the processes below it."""
        asked, data = read_kernel_view(one)
        self._write(one, "proc", "txt", data)
        for below in one.workers[:_MAX_WORKERS]:
            text = _read_proc_files(below.pid)
            if text:
                name = f"worker_{below.pid}_of_{_make_look_name(one)}_proc_{self.stamp}.txt"
                self.folder.write(f"look-{self.plan.number}/workers", name, text.encode())
        return [asked]

    def stacks(self, py_spy: str, one: RankProcess, deadline: Deadline) -> list[Question]:
        asked, data = dump_stacks(py_spy, one, deadline)
        self._write(one, "pyspy_dump", "txt", data)
        return [asked]

    def gpus(
        self, name: str, argv: tuple[str, ...], ending: str, deadline: Deadline
    ) -> list[Question]:
        asked, data = state_by(name, argv, deadline)
        if data:
            self.folder.write(self._folder, f"{name}_{self.stamp}.{ending}", data)
        return [asked]

    def pipe(self, one: RankProcess, deadline: Deadline) -> list[Question]:
        asked, data = dump_by_pipe(one, deadline.part(0.9))
        if data:
            self.folder.write("fr", f"nccl_trace_rank_{one.rank}", data)
        return [asked]

    def servers(
        self, job: Job, here: tuple[RankProcess, ...], deadline: Deadline
    ) -> list[Question]:
        """The servers that the job's processes themselves opened: RAS and PyTorch's."""
        pids = [one.seen.pid for one in here]
        below = [worker.pid for one in here for worker in one.workers]
        ports = find_listening([*pids, *below])
        tasks: dict[tuple[str, object], Task] = {}
        if "ras" not in self.plan.without and self.plan.whole_job:
            address = find_ras_address(job.environment)
            if address[1] in ports:
                tasks[("ras", None)] = (self.ras, (address, deadline.part(0.9)))
        if "debug-server" not in self.plan.without:
            stored = self._stored(job, ports, deadline.part(0.3))
            for pid, place in find_addresses(here, stored, ports).items():
                one = next(one for one in here if one.seen.pid == pid)
                for handler in HANDLERS:
                    if self.plan.recorders or not handler.recorder:
                        row = (one, place, handler, deadline.part(0.9))
                        tasks[(handler.name, pid)] = (self.handler, row)
        results = run_all(tasks, deadline, _WIDTH)
        answers = [row for got in results.values() if isinstance(got, list) for row in got]
        ranks = {one.seen.pid: one.rank for one in here}
        for key in tasks:
            owner = key[1] if isinstance(key[1], int) else None
            if not isinstance(results.get(key), list) and owner is not None:
                answers.append(Question(key[0], ranks[owner], owner, SILENT, "no answer in time"))
        return answers

    def ras(self, address: tuple[str, int], deadline: Deadline) -> list[Question]:
        asked, data, ending = ask_ras_status(address, deadline)
        if data:
            self.folder.write(self._folder, f"ras_{self.stamp}.{ending}", data)
        return [asked]

    def handler(
        self, one: RankProcess, place: Address, handler: ServerHandler, deadline: Deadline
    ) -> list[Question]:
        asked, data = ask_debug_server(one, place, handler, deadline)
        if data and handler.recorder:
            self.folder.write("fr", f"{handler.name}_rank_{one.rank}.{handler.ending}", data)
        elif data:
            self._write(one, handler.name, handler.ending, data)
        return [asked]

    def _stored(
        self, job: Job, ports: Mapping[int, int], deadline: Deadline
    ) -> dict[int, tuple[str, int]]:
        """Where the ranks' servers are, as the frontend of rank 0 says it."""
        master = job.environment.get("MASTER_ADDR", "")
        own = FRONTEND_PORT in ports
        if not own and (not master or not self.plan.search):
            return {}
        host = "localhost" if own else master
        page = post((host, FRONTEND_PORT), "/tcpstore", deadline, MAX_PAGE, "GET")
        return parse_ports(page.data) if page.status == 200 else {}

    @property
    def _folder(self) -> str:
        return f"look-{self.plan.number}"

    def _write(self, one: RankProcess, what: str, ending: str, data: bytes) -> None:
        if data:
            # Stacks say no time: two looks at a rank that stands would be one file to a service.
            if data.startswith(_STACKS):
                data = f"# {what} of look {self.plan.number}, {self.stamp}\n".encode() + data
            self.folder.write(
                self._folder, f"{_make_look_name(one)}_{what}_{self.stamp}.{ending}", data
            )


def _make_look_name(one: RankProcess) -> str:
    return f"pid_{one.seen.pid}" if one.rank is None else f"rank_{one.rank}"


_MAX_BYTES = 8 << 20
# A driver that hangs holds its tool in the kernel.
_TOOL_S = 8.0
_FIELDS = ("timestamp", "index", "uuid", "pci.bus_id", "pstate", "utilization.gpu",
          "utilization.memory", "power.draw", "power.limit", "clocks.current.sm",
          "temperature.gpu")  # fmt: skip
_TOOLS = (
    ("nvidia-smi", (f"--query-gpu={','.join(_FIELDS)}", "--format=csv"), "csv"),
    ("amd-smi", ("metric", "--usage", "--power", "--json"), "json"),
)


def _list_gpu_tools(search: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Name, command and ending of each tool that this node has."""
    for name, arguments, ending in _TOOLS:
        path = program(name, search)
        if path is not None:
            yield name, (path, *arguments), ending


def state_by(name: str, argv: tuple[str, ...], deadline: Deadline) -> tuple[Question, bytes]:
    """What the tool prints."""
    began = time.monotonic()
    deadline = deadline.part(min(1.0, _TOOL_S / max(deadline.left_s(), 0.001)))
    got = run_program(argv, deadline, _MAX_BYTES)
    reply = ANSWERED if got.status == 0 else SILENT if got.status is None else TOOL_FAILED
    why = "" if reply == ANSWERED else f"{name} {got.why}"
    return Question(name, None, None, reply, why, time.monotonic() - began), got.data


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


def _is_same_network(pid: int, proc: str = PROC) -> bool:
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

_NAME = "proc"
_PARTS = ("status", "wchan", "stack", "syscall")
_MAX_TASK_BYTES = 1 << 16
# The rows of ``status`` that say who it is and how it fares.
_STATUS = ("Name", "State", "Tgid", "Pid", "PPid", "TracerPid", "NSpid", "VmRSS", "Threads",
          "SigQ", "SigCgt", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")  # fmt: skip


def read_kernel_view(one: RankProcess, proc: str = PROC) -> tuple[Question, bytes]:
    """The parts of ``/proc/PID`` of a rank, each below ``== NAME``."""
    text = _read_proc_files(one.seen.pid, proc)
    reply = ANSWERED if text else UNREACHABLE
    why = "" if text else "ended while it was asked"
    return Question(_NAME, one.rank, one.seen.pid, reply, why), text.encode("utf-8", "replace")


def _read_proc_files(pid: int, proc: str = PROC) -> str:
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


def _list_missing_rights(ranks: Sequence[RankProcess], proc: str = PROC) -> Iterable[Question]:
    """That the kernel's stacks may not be read, once for the node."""
    for one in ranks[:1]:
        path = f"{proc}/{one.seen.pid}/stack"
        if os.path.exists(path) and read_file(path, 64) is None:
            yield Question(
                "kernel_stack", None, None, TOOL_FAILED,
                "the kernel's stacks are for root alone; wchan and state are read",
            )  # fmt: skip
