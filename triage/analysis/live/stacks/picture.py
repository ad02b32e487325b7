"""The stacks of a job as one picture: each rank's last two looks, and what answered.

A process is a rank where it or its place says so. Launchers are none, and neither are workers of
data loaders and other children of ranks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from triage.analysis.live.stacks.program_points import (
    PROGRAMS,
    ProgramPoint,
    get_bare_name,
    is_library,
    shorten_file,
)
from triage.analysis.live.stacks.rank_stack import (
    RankStack,
    StackMovement,
    find_worker,
    is_worker,
    main_thread,
    rank_stack,
)
from triage.domain.live.launchers import is_helper, is_launcher
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.live.stack import ThreadStack
from triage.domain.patterns import compile_re

NameOf = Callable[[Process, Look], str | None]
RankOf = Callable[[Process, Look], int | None]

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


def build_picture(looks: Sequence[Look], rank_of: RankOf, node_of: NameOf) -> StackPicture:
    """The picture that ``looks`` show of processes with these ranks and nodes; empty where they
    hold no stack.
    """
    gathered = _Gathered()
    for look in looks:
        gathered.add(look, rank_of, node_of)
    return gathered.picture()


class _Gathered:
    """Stacks of processes, as they are met."""

    def __init__(self) -> None:
        self.seen: dict[_ProcessKey, list[RankStack]] = defaultdict(list)
        self.workers: dict[int, list[RankStack]] = defaultdict(list)

    def add(self, look: Look, rank_of: RankOf, node_of: NameOf) -> None:
        """The processes of one look."""
        pids = {one.process.pid for one in look.stacks if one.process.pid is not None}
        for process, threads in _group_by_process(look.stacks):
            node = node_of(process, look)
            if _is_launcher(process, threads) or _is_helper(process, threads):
                continue
            parent = process.parent_pid
            if is_worker(threads):
                worker = find_worker(threads, look, node)
                if worker is not None and parent is not None:
                    self.workers[parent].append(worker)
                continue
            if parent is not None and parent in pids and parent != process.pid:
                continue  # a child of a process that is here: compilers, loggers, feeders
            rank = rank_of(process, look)
            stack = rank_stack(threads, look, rank, node)
            if stack is not None:
                # Processes of two nodes may have one pid.
                unknown = node is None or process.pid is None
                key = (node, process.pid, look.artifact if unknown else "")
                self.seen[key if rank is None else ("rank", rank)].append(stack)

    def picture(self) -> StackPicture:
        """One stack of each rank; processes of no known rank count where no rank is known."""
        known = {key: stacks for key, stacks in self.seen.items() if key[0] == "rank"}
        chosen: list[RankStack] = []
        for stacks in (known or self.seen).values():
            two = _select_last_two(_choose_best_tool(stacks))
            *before, now = map(self.with_worker, two)
            moved = StackMovement.ONCE
            if before:
                earlier, now = _make_whole(before[0], now)
                moved = _compare_stacks(earlier, now)
            chosen.append(replace(_refine_stack(now, stacks), moved=moved))
        chosen.sort(
            key=lambda one: (
                one.rank if one.rank is not None else 1 << 30,
                one.node or "",
                one.pid or 0,
                one.artifact,
            )
        )
        strangers = (stacks for key, stacks in self.seen.items() if known and key not in known)
        return StackPicture(tuple(chosen), tuple(stacks[-1] for stacks in strangers))

    def with_worker(self, stack: RankStack) -> RankStack:
        """A stack with the worker that its loader waits for, of the same look or else of any."""
        children = self.workers.get(stack.pid, ()) if stack.pid is not None else ()
        same = [worker for worker in children if worker.look is stack.look]
        near = [worker for worker in children if worker.node == stack.node]
        return replace(stack, worker=(same or near)[0]) if same or near else stack


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


def _choose_best_tool(stacks: Sequence[RankStack]) -> list[RankStack]:
    """The stacks of the one tool that says most of this process."""
    by_tool: dict[Tool, list[RankStack]] = defaultdict(list)
    for stack in stacks:
        by_tool[stack.look.tool].append(stack)

    def worth(tool: Tool) -> tuple[bool, int]:
        vague = all(stack.is_vague for stack in by_tool[tool])
        return (vague, _TOOLS.index(tool) if tool in _TOOLS else len(_TOOLS))

    return by_tool[min(by_tool, key=worth)]


def _refine_stack(newest: RankStack, stacks: Sequence[RankStack]) -> RankStack:
    """The newest stack, with what the kernel or a debugger says of the same process: that it is
    held in a file system, stopped or gone, which no Python frame shows.
    """
    for other in stacks:
        if other.look.tool is not newest.look.tool and other.point in _OF_THE_KERNEL:
            return replace(newest, found=other.found, look=other.look, line=other.line)
    return newest


_OF_THE_KERNEL: Final = frozenset({ProgramPoint.STORAGE, ProgramPoint.STOPPED, ProgramPoint.GONE})


# What one look shows of a job that runs is one step apart from rank to rank. What stands at the
# same place twice is stuck, or waits for who is.

# Stacks that one program takes of one process within this are one look, ns.
_ONE_LOOK_NS: Final = 1_000_000_000
_NUMBERS: Final = compile_re(r"\d+")


def _select_last_two(stacks: Sequence[RankStack]) -> list[RankStack]:
    """The newest stack of a process, and the one before it where that is another look.

    Without times, files of the same name in two folders, or numbered alike in one, are two looks;
    so is what is printed twice into one file. Files of other names may be of one moment.
    """
    *before, newest = sorted(stacks, key=lambda one: (one.look.order, one.line or 0))
    other = (one for one in reversed(before) if _is_another_look(one, newest))
    return [*islice(other, 1), newest]


def _is_another_look(one: RankStack, other: RankStack) -> bool:
    """Whether two stacks of one process are of two moments."""
    if one.pid != other.pid and None not in (one.pid, other.pid):
        return False  # another process: another attempt of the job, or another namespace
    if len({one.look.node, other.look.node} - {None}) > 1:
        return False  # files of two nodes that count their ranks alike
    before, after = one.look.stamp.wall_ns, other.look.stamp.wall_ns
    if one.look is not other.look and before is not None and after is not None:
        return abs(after - before) >= _ONE_LOOK_NS
    if one.artifact == other.artifact:
        return one.line != other.line
    return _shape(one.artifact) == _shape(other.artifact)


def _shape(artifact: str) -> str:
    """The name of a file without its numbers, and without its folder."""
    return _NUMBERS.sub("#", artifact.rpartition("/")[2])


# Where every stack of a program ends at the outside.
_ROOTS: Final = frozenset({"<module>", "_bootstrap", "_worker_loop"})


def _make_whole(before: RankStack, now: RankStack) -> tuple[RankStack, RankStack]:
    """Two stacks of one rank; one that was cut, and is the same as the other as far as it goes,
    stands where that one does: a disk was full, or the tool was killed.
    """
    if _is_part(now, before):
        now = replace(now, found=before.found, frames=before.frames)
    elif _is_part(before, now):
        before = replace(before, found=now.found, frames=now.frames)
    return before, now


def _is_part(cut: RankStack, whole: RankStack) -> bool:
    """Whether the frames of one stack are the first that the tool printed of another."""
    count = len(cut.frames)
    if not 0 < count < len(whole.frames):
        return False
    if cut.look.tool is Tool.TRACEBACK:  # it prints the outermost first
        return cut.frames == whole.frames[-count:]
    return cut.frames == whole.frames[:count]


def _tells_nothing(before: RankStack, now: RankStack) -> bool:
    """Whether one of two stacks was cut where they differ: one ends where programs begin, and the
    other does not.
    """
    if not (before.is_main and now.is_main):
        return False
    if Tool.TRACEBACK in (before.look.tool, now.look.tool):
        return False
    ends = [get_bare_name(stack.frames[-1]) in _ROOTS for stack in (before, now) if stack.frames]
    return len(set(ends)) > 1


def _compare_stacks(before: RankStack, now: RankStack) -> StackMovement:
    """What two stacks of one rank show."""
    if before.is_vague or now.is_vague:
        return StackMovement.ONCE
    if before.place == now.place:
        return StackMovement.SAME
    if _tells_nothing(before, now):
        return StackMovement.ONCE
    return StackMovement.WENT_ON if before.waits else StackMovement.BUSY


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
