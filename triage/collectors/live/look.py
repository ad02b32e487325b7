"""One look: every source is asked at the same time, within a deadline.

What is slow or silent costs only itself: the other answers are written as they come.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.capture import program
from triage.collectors.live.folder import SILENT, TOOL_FAILED, Question, stamp_text
from triage.collectors.live.program import run_all
from triage.collectors.live.servers import (
    FRONTEND_PORT,
    HANDLERS,
    MAX_PAGE,
    ask_debug_server,
    ask_ras_status,
    find_addresses,
    find_ras_address,
    parse_ports,
    post,
)
from triage.collectors.live.sources import (
    GPU_TOOLS,
    dump_by_pipe,
    dump_stacks,
    find_listening,
    find_pipe,
    find_py_spy,
    is_same_network,
    list_missing_rights,
    read_kernel_view,
    read_proc_files,
    state_by,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from triage.collectors.artifact import Deadline
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
    writer = _Writer(folder, plan, stamp_text(time.time()))
    asked: list[Question] = []
    here = tuple(one for one in job.ranks if is_same_network(one.seen.pid))
    programs: dict[_Key, Task] = {}
    waits: dict[_Key, Task] = {}
    if "proc" not in plan.without:
        waits.update({("proc", one.seen.pid): (writer.ask_kernel, (one,)) for one in job.ranks})
        asked.extend(list_missing_rights(job.ranks))
    if "py-spy" not in plan.without:
        py_spy, why = find_py_spy(plan.search, job.ranks)
        if not py_spy:
            asked.append(Question("py_spy", None, None, TOOL_FAILED, why))
        for one in job.ranks if py_spy else ():
            name = writer.make_name(one, "pyspy_dump", "txt")
            row = (name, dump_stacks, py_spy, one, deadline)
            programs["py_spy", one.seen.pid] = (writer.ask, row)
    if "gpu" not in plan.without:
        for tool, arguments, ending in GPU_TOOLS:
            path = program(tool, plan.search)
            if path is not None:
                argv = (path, *arguments)
                name = f"{writer.folder_name}/{tool}_{writer.stamp}.{ending}"
                waits[tool, None] = (writer.ask, (name, state_by, tool, argv, deadline))
    if "pipe" not in plan.without and plan.recorders:
        for one in filter(find_pipe, job.ranks):
            name = f"fr/nccl_trace_rank_{one.rank}"
            waits["pipe", one.seen.pid] = (
                writer.ask,
                (name, dump_by_pipe, one, deadline.part(0.9)),
            )
    if here and {"debug-server", "ras"} - set(plan.without):
        waits["servers", None] = (writer.ask_servers, (job, here, deadline))
    width = min(len(waits), _WIDTH) + 2 * (os.cpu_count() or 1)
    return asked + _ask_all({**waits, **programs}, deadline, width, job.ranks)


# The tool, and the process that is asked; None for one that answers for the node.
_Key = tuple[str, int | None]


def _ask_all(
    tasks: Mapping[_Key, Task], deadline: Deadline, width: int, ranks: Iterable[RankProcess]
) -> list[Question]:
    """What all tasks say of who answered; who is late, or whose task fails, is said too."""
    results = run_all(tasks, deadline, width)
    rank_of = {one.seen.pid: one.rank for one in ranks}
    asked: list[Question] = []
    for key in tasks:
        got = results.get(key)
        if isinstance(got, list):
            asked.extend(got)
            continue
        reply, why = SILENT, "no answer in time"
        if isinstance(got, Exception):
            reply, why = TOOL_FAILED, f"{type(got).__name__}: {got}"[:200]
        asked.append(Question(key[0], rank_of.get(key[1] or 0), key[1], reply, why))
    return asked


class _Writer:
    """Asks one source each and writes its answer into the folder of this look."""

    def __init__(self, folder: PullFolder, plan: LookPlan, stamp: str) -> None:
        self.folder = folder
        self.plan = plan
        self.stamp = stamp
        self.folder_name = f"look-{plan.number}"

    def make_name(self, one: RankProcess, what: str, ending: str) -> str:
        """The file of an answer about a rank, below the node's folder."""
        return f"{self.folder_name}/{_make_look_name(one)}_{what}_{self.stamp}.{ending}"

    def ask(
        self, name: str, question: Callable[..., tuple[Question, bytes]], *arguments: object
    ) -> list[Question]:
        """Ask one source, and write what it answers as ``name``."""
        began = time.monotonic()
        asked, data = question(*arguments)
        # Stacks say no time: two looks at a rank that stands would be one file to a service.
        if data.startswith(_STACKS):
            data = f"# {asked.tool} of look {self.plan.number}, {self.stamp}\n".encode() + data
        self._write(name, data)
        return [asked._replace(seconds=time.monotonic() - began)]

    def ask_kernel(self, one: RankProcess) -> list[Question]:
        """The rank's, and those of the processes below it."""
        asked = self.ask(self.make_name(one, "proc", "txt"), read_kernel_view, one)
        for below in one.workers[:_MAX_WORKERS]:
            name = f"worker_{below.pid}_of_{_make_look_name(one)}_proc_{self.stamp}.txt"
            text = read_proc_files(below.pid)
            self._write(f"{self.folder_name}/workers/{name}", text.encode("utf-8", "replace"))
        return asked

    def ask_servers(
        self, job: Job, here: tuple[RankProcess, ...], deadline: Deadline
    ) -> list[Question]:
        """The servers that the job's processes themselves opened: RAS and PyTorch's."""
        pids = [one.seen.pid for one in here]
        below = [worker.pid for one in here for worker in one.workers]
        ports = find_listening([*pids, *below])
        tasks: dict[_Key, Task] = {}
        if "ras" not in self.plan.without and self.plan.whole_job:
            address = find_ras_address(job.environment)
            if address[1] in ports:
                tasks["ras", None] = (self.ask_ras, (address, deadline.part(0.9)))
        if "debug-server" not in self.plan.without:
            stored = self._find_stored(job, ports, deadline.part(0.3))
            places = find_addresses(here, stored, ports)
            for one in here:
                for handler in HANDLERS if one.seen.pid in places else ():
                    if handler.recorder and not self.plan.recorders:
                        continue
                    name = self.make_name(one, handler.name, handler.ending)
                    if handler.recorder:
                        name = f"fr/{handler.name}_rank_{one.rank}.{handler.ending}"
                    place = places[one.seen.pid]
                    row = (name, ask_debug_server, one, place, handler, deadline.part(0.9))
                    tasks[handler.name, one.seen.pid] = (self.ask, row)
        return _ask_all(tasks, deadline, _WIDTH, here)

    def ask_ras(self, address: tuple[str, int], deadline: Deadline) -> list[Question]:
        asked, data, ending = ask_ras_status(address, deadline)
        self._write(f"{self.folder_name}/ras_{self.stamp}.{ending}", data)
        return [asked]

    def _find_stored(
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

    def _write(self, name: str, data: bytes) -> None:
        """An answer below the node's folder; nothing where there is none."""
        folder, _, file = name.rpartition("/")
        if data:
            self.folder.write(folder, file, data)


def _make_look_name(one: RankProcess) -> str:
    return f"pid_{one.seen.pid}" if one.rank is None else f"rank_{one.rank}"
