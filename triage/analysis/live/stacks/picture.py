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
    describe_frame,
    find_worker,
    get_line,
    is_worker,
    main_thread,
    rank_stack,
)
from triage.domain.live.launchers import is_helper, is_launcher
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.live.stack import ThreadStack
from triage.domain.patterns import compile_re
from triage.domain.report import StandingRanks

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
        process, own = found[-1] if found else (None, [thread])
        again = thread.thread_id is not None and own[0].thread_id == thread.thread_id
        if process == thread.process and not again:
            own.append(thread)
        else:
            found.append((thread.process, [thread]))
    return found


def _choose_best_tool(stacks: Sequence[RankStack]) -> list[RankStack]:
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


def _compare_stacks(before: RankStack, now: RankStack) -> StackMovement:
    if before.is_vague or now.is_vague:
        return StackMovement.ONCE
    if before.place == now.place:
        return StackMovement.SAME
    # One ends where programs begin and the other does not: it was cut where they differ.
    if len({get_bare_name(one.frames[-1]) in _ROOTS for one in (before, now) if one.frames}) > 1:
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
    for frame in main.frames:
        file = shorten_file(frame.filename)
        if _LOOPS.match(f"{file} {get_bare_name(frame)}"):
            return True
        if not is_library(frame) or file.startswith(_WORKS_FOR_A_RANK):
            return False
    return False


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


# Classes of ranks: those that stand at the same place of the program, the largest first.

# A class of this share, all at one line, is the crowd, whatever it does there: ``loss.item()``
# shows as a line of the program, and so does a wait in C.
_CROWD: Final = 0.5
_LEAST_CROWD: Final = 3
_CROWDED: Final = frozenset({ProgramPoint.CODE, ProgramPoint.DISPATCH, ProgramPoint.TEARDOWN})


@dataclass(frozen=True, slots=True)
class StackClass:
    """``stacks`` are those of the ranks that stand here, by rank."""

    point: ProgramPoint
    stacks: tuple[RankStack, ...]

    @property
    def example(self) -> RankStack:
        """The stack of its lowest rank."""
        return self.stacks[0]

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its ranks, ascending."""
        return tuple(one.rank for one in self.stacks if one.rank is not None)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of its ranks, in order."""
        return tuple(sorted({one.node for one in self.stacks if one.node is not None}))

    @property
    def stands(self) -> bool:
        """Whether two looks show all of its ranks at one place."""
        return all(one.moved is StackMovement.SAME for one in self.stacks)


def group_stacks(stacks: Iterable[RankStack]) -> list[StackClass]:
    """The classes of ``stacks``, the largest first.

    Two ranks at neighbouring lines of one function, outside any wait, are of one class.
    """
    groups: dict[tuple[object, ...], list[RankStack]] = defaultdict(list)
    for stack in stacks:
        groups[_make_key(stack)].append(stack)
    found = [StackClass(members[0].point, tuple(members)) for members in groups.values()]
    return sorted(found, key=lambda one: (-len(one.stacks), one.ranks, str(one.point)))


def _make_key(stack: RankStack) -> tuple[object, ...]:
    if stack.waits:
        return stack.place
    line = stack.worker.found.told_by if stack.worker is not None else stack.found.told_by
    holder = stack.holder[0].function if stack.holder else None
    where = (line.function, line.filename) if line is not None else None
    return (stack.point, where, holder)


def split(picture: StackPicture) -> tuple[list[RankStack], list[StackClass]]:
    """The stacks that wait, and the classes that do not; a crowd at one line waits."""
    telling = picture.telling
    waiting = [one for one in telling if one.waits]
    classes = group_stacks(one for one in telling if not one.waits)
    if classes and classes[0].point in _CROWDED:
        crowd = classes[0].stacks
        if len(crowd) >= _LEAST_CROWD and len(crowd) > _CROWD * len(telling):
            return [*waiting, *crowd], classes[1:]
    return waiting, classes


# From so many ranks at one place on, one at another place is odd.
_LEAST_USUAL: Final = 3
# More of them wait elsewhere than this share in groups of a job: stages, replicas.
_MAX_SHARE: Final = 1 / 8


def find_odd_waits(picture: StackPicture) -> list[StackClass]:
    """The class of nearly all ranks, then those of the few others; empty where there are none, or
    where any rank stands outside a wait.
    """
    telling = picture.telling
    waiting, outside = split(picture)
    if outside or len(waiting) < len(telling):
        return []
    classes = group_stacks(telling)
    if len(classes) < 2 or any(not stack.waits for stack in telling):
        return []
    usual = len(classes[0].stacks)
    few = len(telling) - usual <= max(1, _MAX_SHARE * len(telling))
    return classes if few and usual >= _LEAST_USUAL else []


# Classes that are told, and frames of each: a fleet has few places to stand at.
_MAX_CLASSES: Final = 32
_MAX_FRAMES: Final = 48


def classes_for_report(picture: StackPicture) -> tuple[StandingRanks, ...]:
    """The largest classes, frames from the outside to the inside."""
    return tuple(
        StandingRanks(
            ranks=one.ranks,
            nodes=one.nodes,
            frames=tuple(_list_frames(one)),
            state=str(one.point),
            seen_twice=one.stands,
            stands_at=get_line(one.example),
        )
        for one in group_stacks(picture.ranks)[:_MAX_CLASSES]
    )


def _list_frames(one: StackClass) -> Sequence[str]:
    """The frames of an example, and below them those of what it waits for in its process."""
    stack = one.example
    frames = [*reversed(stack.frames)]
    if stack.worker is not None:
        frames += reversed(stack.worker.frames)
    elif stack.holder:
        frames += reversed(stack.holder)
    texts = [describe_frame(frame) for frame in frames]
    if len(texts) > _MAX_FRAMES:
        left = len(texts) - _MAX_FRAMES + 1
        texts[_MAX_FRAMES // 2 : _MAX_FRAMES // 2 + left] = [f"... {left} more ..."]
    return texts
