"""The stacks of a job as one picture: each rank's last two looks, and what answered.

A process is a rank where it or its place says so. Launchers are none, and neither are workers of
data loaders and other children of ranks.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from triage.analysis.live.stacks.normalise import PROGRAMS, get_bare_name, is_library, shorten_file
from triage.analysis.live.stacks.rank_stack import (
    RankStack,
    StackMovement,
    Worker,
    find_worker,
    is_worker,
    main_thread,
    rank_stack,
)
from triage.analysis.live.stacks.two_looks import compare_stacks, last_two, made_whole
from triage.domain.live.launchers import is_helper, is_launcher
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.live.stack import ThreadStack
from triage.domain.patterns import compile_re


class ProcessNames(Protocol):
    """Who a process is."""

    def rank_of(self, process: Process, look: Look) -> int | None:
        """The global rank of a process."""
        ...

    def node_of(self, process: Process, look: Look) -> str | None:
        """The node of a process."""
        ...


# What says most of a program, first.
_TOOLS: Final = (
    Tool.PY_SPY, Tool.FAULTHANDLER, Tool.TRACEBACK, Tool.DEBUG_SERVER, Tool.GDB, Tool.PROC,
)  # fmt: skip
_ProcessKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class StackPicture:
    """``ranks`` are the newest stacks of processes that are ranks, by rank, then by process;
    ``strangers`` are stacks of no known rank beside known ones.
    """

    ranks: tuple[RankStack, ...] = ()
    strangers: tuple[RankStack, ...] = ()

    @property
    def telling(self) -> list[RankStack]:
        """The stacks that say what their rank does."""
        return [one for one in self.ranks if not one.is_vague]

    @property
    def twice(self) -> int:
        """Of how many ranks there are two looks."""
        return sum(one.moved is not StackMovement.ONCE for one in self.ranks)

    @property
    def job_moves(self) -> bool:
        """Whether a rank that waited went on: then nothing is stuck."""
        return any(one.moved is StackMovement.WENT_ON for one in self.ranks)

    @property
    def waiting(self) -> tuple[int, ...]:
        """The ranks that wait for others or for their device, ascending."""
        return tuple(one.rank for one in self.ranks if one.waits and one.rank is not None)


NO_STACKS: Final = StackPicture()


def build_picture(looks: Sequence[Look], names: ProcessNames) -> StackPicture:
    """The picture that ``looks`` show; empty where they hold no stack."""
    gathered = _Gathered()
    for order, look in enumerate(looks):
        if look.stacks:
            gathered.add(order, look, names)
    return gathered.picture(looks)


class _Gathered:
    """Stacks of processes, as they are met."""

    def __init__(self) -> None:
        self.seen: dict[_ProcessKey, list[tuple[int, RankStack]]] = defaultdict(list)
        self.workers: dict[int, list[tuple[int, str | None, Worker]]] = defaultdict(list)

    def add(self, order: int, look: Look, names: ProcessNames) -> None:
        """The processes of one look."""
        pids = {one.process.pid for one in look.stacks if one.process.pid is not None}
        for process, threads in _group_by_process(look.stacks):
            node = names.node_of(process, look)
            if _is_launcher(process, threads) or _is_helper(process, threads):
                continue
            parent = process.parent_pid
            if is_worker(threads):
                worker = find_worker(threads, look.artifact)
                if worker is not None and parent is not None:
                    self.workers[parent].append((order, node, worker))
                continue
            if parent is not None and parent in pids and parent != process.pid:
                continue  # a child of a process that is here: compilers, loggers, feeders
            rank = names.rank_of(process, look)
            stack = rank_stack(
                threads, rank=rank, node=node, tool=look.tool, artifact=look.artifact
            )
            if stack is not None:
                self.seen[_make_process_key(rank, node, process.pid, look.artifact)].append(
                    (order, stack)
                )

    def picture(self, looks: Sequence[Look]) -> StackPicture:
        """One stack of each rank; processes of no known rank count where no rank is known."""
        known = {key: stacks for key, stacks in self.seen.items() if key[0] == "rank"}
        chosen: list[RankStack] = []
        for stacks in (known or self.seen).values():
            two = last_two(_choose_best_tool(stacks), looks)
            pair = made_whole([self.with_worker(order, stack) for order, stack in two])
            chosen.append(replace(_refine_stack(pair[-1], stacks), moved=compare_stacks(pair)))
        chosen.sort(
            key=lambda one: (
                one.rank if one.rank is not None else 1 << 30,
                one.node or "",
                one.pid or 0,
                one.artifact,
            )
        )
        strangers = (stacks for key, stacks in self.seen.items() if known and key not in known)
        return StackPicture(tuple(chosen), tuple(stacks[-1][1] for stacks in strangers))

    def with_worker(self, order: int, stack: RankStack) -> RankStack:
        """A stack with the worker that its loader waits for, of the same look or else of any."""
        if stack.pid is None or not self.workers:
            return stack
        children = self.workers.get(stack.pid, [])
        same = [worker for look, _, worker in children if look == order]
        near = [worker for _, node, worker in children if node == stack.node]
        workers = same or near
        return replace(stack, worker=workers[0]) if workers else stack


def _make_process_key(
    rank: int | None, node: str | None, pid: int | None, artifact: str
) -> _ProcessKey:
    """What tells one process from another: processes of two nodes may have one pid."""
    if rank is not None:
        return ("rank", rank)
    return (node, pid, artifact if node is None or pid is None else "")


def _group_by_process(stacks: Iterable[ThreadStack]) -> list[tuple[Process, list[ThreadStack]]]:
    """Threads by process, in the order of the file. A process that comes back after another one,
    or whose main thread comes twice, is a dump of its own.
    """
    found: list[tuple[Process, list[ThreadStack]]] = []
    for thread in stacks:
        if found and found[-1][0] == thread.process:
            again = thread.thread_id is not None and any(
                other.thread_id == thread.thread_id for other in found[-1][1][:1]
            )
            if not again:
                found[-1][1].append(thread)
                continue
        found.append((thread.process, [thread]))
    return found


def _choose_best_tool(stacks: Sequence[tuple[int, RankStack]]) -> list[tuple[int, RankStack]]:
    """The stacks of the one tool that says most of this process."""
    by_tool: dict[Tool, list[tuple[int, RankStack]]] = defaultdict(list)
    for order, stack in stacks:
        by_tool[stack.tool].append((order, stack))

    def worth(tool: Tool) -> tuple[bool, int]:
        telling = any(not stack.is_vague for _, stack in by_tool[tool])
        return (not telling, _TOOLS.index(tool) if tool in _TOOLS else len(_TOOLS))

    return by_tool[min(by_tool, key=worth)]


def _refine_stack(newest: RankStack, stacks: Sequence[tuple[int, RankStack]]) -> RankStack:
    """The newest stack, with what the kernel or a debugger says of the same process: that it is
    held in a file system, stopped or gone, which no Python frame shows.
    """
    for _, other in stacks:
        if other.tool is not newest.tool and other.point.value in ("storage", "stopped", "gone"):
            return replace(newest, found=other.found, artifact=other.artifact, line=other.line)
    return newest


_PROCESSES: Final = PROGRAMS["processes"]
_LOOPS: Final = compile_re("".join(_PROCESSES["loops"]))
_AGENTS: Final = tuple(_PROCESSES["agents"])
_OF_A_RANK: Final = frozenset(_PROCESSES["of_a_rank"])
_WORKS_FOR_A_RANK: Final[str] = _PROCESSES["works_for_a_rank"]


def _is_helper(process: Process, threads: Sequence[ThreadStack]) -> bool:
    """Whether a process is a helper, by its command line or by the loop that its main thread is in
    without any code of the job inside.
    """
    if is_helper(process.command):
        return True
    main = main_thread(threads)
    if main is None:
        return False
    loop = next(
        (
            at
            for at, frame in enumerate(main.frames)
            if _LOOPS.match(f"{shorten_file(frame.filename)} {get_bare_name(frame)}")
        ),
        None,
    )
    if loop is None:
        return False
    return all(
        is_library(frame) and not shorten_file(frame.filename).startswith(_WORKS_FOR_A_RANK)
        for frame in main.frames[:loop]
    )


def _is_launcher(process: Process, threads: Sequence[ThreadStack]) -> bool:
    """Whether a process is a launcher, by its command line or by where its main thread waits."""
    if is_launcher(process.command):
        return True
    return any(
        shorten_file(frame.filename).startswith(_AGENTS) and get_bare_name(frame) not in _OF_A_RANK
        for thread in threads
        if thread.is_main is not False
        for frame in thread.frames
    )
