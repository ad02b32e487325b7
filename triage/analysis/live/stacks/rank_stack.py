"""Where one rank stands in one look: the deciding thread of its process, and who holds it up.

Of a process with many threads the main one decides, but where it is in the backward pass, which
runs in a thread of its own, and where it only waits for the thread that trains. What a rank waits
for in its own process (the thread that holds the interpreter's lock) or beside it (its data-loader
worker) is named instead of the wait.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from triage.analysis.live.stacks.program_points import (
    KERNEL_STORAGE,
    PROGRAMS,
    VAGUE,
    WAITS,
    PointFound,
    ProgramPoint,
    find_point,
    get_bare_name,
    is_library,
    own_frames,
    shorten_file,
)
from triage.domain.live.look import Look, Tool
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.report import Because

_OF_A_WORKER: Final = "_worker_loop"
_OF_THE_SERVER: Final = tuple(PROGRAMS["threads"]["of_the_server"])
_FOR_A_THREAD: Final[Mapping[str, str]] = PROGRAMS["threads"]["for_a_thread"]


class StackMovement(StrEnum):
    """What two looks show of a rank."""

    ONCE = "once"  # there is only one look
    SAME = "same"  # it stands at the same place
    BUSY = "busy"  # it is elsewhere in what it does, outside any wait
    WENT_ON = "went_on"  # it left the place at which it waited


@dataclass(frozen=True, slots=True)
class RankStack:
    """``frames`` are those of the deciding thread, innermost first. ``place`` is what of them two
    looks, or two ranks, have in common where they stand at the same place of the program.

    ``worker`` is the loader's worker that the rank waits for, ``holder`` the frames of a thread
    beside the main one that holds the interpreter's lock. ``active`` is whether the deciding
    thread was on a CPU, ``moved`` what the look before shows.
    """

    rank: int | None
    node: str | None
    pid: int | None
    look: Look
    line: int | None
    found: PointFound
    frames: tuple[StackFrame, ...]
    active: bool | None = None
    state: str | None = None
    worker: "RankStack | None" = None
    holder: tuple[StackFrame, ...] = ()
    moved: StackMovement = StackMovement.ONCE

    @property
    def artifact(self) -> str:
        """The file that shows it."""
        return self.look.artifact

    @property
    def point(self) -> ProgramPoint:
        """What the deciding thread is in."""
        return self.found.point

    @property
    def waits(self) -> bool:
        """Whether it waits for others, or for its device."""
        return self.point in WAITS

    @property
    def is_vague(self) -> bool:
        """Whether its stack says nothing of what it does."""
        return self.point in VAGUE

    @property
    def place(self) -> tuple[object, ...]:
        """The point, and the frames from the one that tells it to the outside, with lines.

        What a library does below its own call changes from look to look while it waits.
        """
        outside = self.frames if self.found.at is None else self.frames[self.found.at + 1 :]
        where = tuple((one.function, one.filename, one.line) for one in outside)
        inside: object = None
        if self.worker is not None:
            inside = tuple((one.function, one.line) for one in self.worker.frames)
        return (self.point, where, inside)


def _threads_that_count(threads: Sequence[ThreadStack]) -> list[ThreadStack]:
    return [
        thread
        for thread in threads
        if thread.frames
        and not any(mark in frame.function for frame in thread.frames for mark in _OF_THE_SERVER)
    ]


def main_thread(threads: Sequence[ThreadStack]) -> ThreadStack | None:
    """The thread that the process began with, as far as anything tells it."""
    for thread in threads:
        if thread.is_main or (thread.is_main is None and thread.thread_name == "MainThread"):
            return thread
    if any(thread.is_main is False for thread in threads):
        threads = [thread for thread in threads if thread.is_main is None]
    for thread in threads:
        if thread.frames and thread.frames[-1].function == "<module>":
            return thread
    return threads[0] if len(threads) == 1 else None


def _says_nothing(thread: ThreadStack) -> bool:
    """Whether a main thread stands in a library's own loop, or waits for another thread's end."""
    frames = own_frames(thread.frames)
    if find_point(frames).point not in _OF_A_LOOP:
        return False
    own = next((at for at, one in enumerate(frames) if _is_own(one)), None)
    if own is None:
        return any(not one.native for one in frames)
    return any(
        shorten_file(one.filename).endswith(_FOR_A_THREAD.get(get_bare_name(one), "\0"))
        for one in frames[:own]
    )


def _is_own(frame: StackFrame) -> bool:
    return not is_library(frame) and frame.function != "<module>"


_OF_A_LOOP: Final = frozenset(
    {ProgramPoint.CODE, ProgramPoint.IDLE, ProgramPoint.LOCK, ProgramPoint.NETWORK}
)


def _training_thread(threads: Sequence[ThreadStack], main: ThreadStack) -> ThreadStack | None:
    """The thread beside ``main`` that runs the job's own code: one that is named after it, else
    one that waits for others or for its device, else the deepest.
    """
    own = [
        thread
        for thread in threads
        if thread is not main and any(_is_own(one) for one in own_frames(thread.frames))
    ]

    def worth(thread: ThreadStack) -> tuple[bool, bool, int]:
        named = "train" in (thread.thread_name or "").lower()
        waits = find_point(own_frames(thread.frames)).point in WAITS
        return (named, waits, len(thread.frames))

    return max(own, key=worth, default=None)


def _deciding_thread(threads: Sequence[ThreadStack]) -> ThreadStack | None:
    """The main thread, or the thread that runs the job's code where the main one says nothing; in
    the backward pass the thread that runs it, where that waits.
    """
    main = main_thread(threads)
    if main is not None and _says_nothing(main):
        main = _training_thread(threads, main) or main
    if main is None or not any(
        get_bare_name(frame) == "_engine_run_backward" for frame in main.frames[:4]
    ):
        return main
    for thread in threads:
        beside = thread is not main and "autograd" in (thread.thread_name or "")
        if beside and find_point(own_frames(thread.frames)).point in WAITS:
            return thread
    return main


def is_worker(threads: Sequence[ThreadStack]) -> bool:
    """Whether the threads are of a worker of a data loader."""
    main = main_thread(threads)
    return main is not None and any(get_bare_name(frame) == _OF_A_WORKER for frame in main.frames)


def find_worker(threads: Sequence[ThreadStack], look: Look, node: str | None) -> RankStack | None:
    """Where a worker stands; None where it has no work."""
    main = main_thread(_threads_that_count(threads))
    if main is None:
        return None
    frames = own_frames(main.frames)
    fetches = next((at for at, one in enumerate(frames) if get_bare_name(one) == "fetch"), None)
    found = find_point(frames[:fetches])
    if fetches is None:
        in_loop = found.told_by is not None and get_bare_name(found.told_by) == _OF_A_WORKER
        # It waits for its next index, or for room in the queue of results.
        if in_loop or any("queues.py" in one.filename for one in frames[:8]):
            return None
    return RankStack(None, node, main.process.pid, look, main.line, found, frames)


def rank_stack(
    threads: Sequence[ThreadStack], look: Look, rank: int | None, node: str | None
) -> RankStack | None:
    """Where the process of ``threads`` stands; None where no thread tells it."""
    counted = _threads_that_count(threads)
    thread = _deciding_thread(counted)
    if thread is None:
        return None
    frames = own_frames(thread.frames)
    found = find_point(frames)
    if thread.state is not None:
        found = _find_by_state(found, frames, thread.state[:1], look.tool)
    stack = RankStack(
        rank, node, thread.process.pid, look, thread.line, found, frames, thread.active,
        thread.state,
    )  # fmt: skip
    holder = next((one for one in counted if one.owns_gil and one is not thread), None)
    # While a rank waits inside a library, its other threads take the lock in turns.
    at_work = bool(frames) and not is_library(frames[0]) and not stack.waits
    if holder is not None and (stack.point in _HELD_BY_THE_LOCK or at_work):
        stack = replace(stack, holder=own_frames(holder.frames))
    return stack


_HELD_BY_THE_LOCK: Final = frozenset(
    {ProgramPoint.CODE, ProgramPoint.GIL, ProgramPoint.LOCK, ProgramPoint.DISPATCH}
)
# The kernel's letters: stopped by a signal or a debugger; ended, and not yet waited for.
_STATES: Final = {
    **dict.fromkeys("Tt", ProgramPoint.STOPPED),
    **dict.fromkeys("ZXx", ProgramPoint.GONE),
}


def _find_by_state(
    found: PointFound, frames: Sequence[StackFrame], letter: str, tool: Tool
) -> PointFound:
    """Where a thread stands by its frames, and by what the kernel says of its state."""
    if letter in _STATES:
        return replace(found, point=_STATES[letter])
    if letter == "D" and (frame := _kernel_frame(frames)) is not None:
        return PointFound(ProgramPoint.STORAGE, None, frame)
    return replace(found, point=ProgramPoint.UNKNOWN) if tool is Tool.PROC else found


def _kernel_frame(frames: Sequence[StackFrame]) -> StackFrame | None:
    in_storage = [frame for frame in frames if KERNEL_STORAGE.match(get_bare_name(frame))]
    helpers = ("rpc_", "_", "io_", "folio")
    named = [frame for frame in in_storage if not get_bare_name(frame).startswith(helpers)]
    return next(iter(named or in_storage), None)


# A stack in words: what a rank is in, and the line to look at.

_WORDS: Final[Mapping[str, str]] = PROGRAMS["words"]
_WORKER_WORDS: Final[Mapping[str, str]] = PROGRAMS["worker_words"]
_MAX_NAME: Final = 80


def describe_frame(frame: StackFrame) -> str:
    """``read_shard (train.py:18)``: the function, and the last parts of its file."""
    name = " ".join(frame.function.split())
    name = name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}..."
    if not frame.filename:
        return name
    parts = shorten_file(frame.filename).split("/")
    # A file of the job's own by its name; of a library, below the library.
    file = "/".join(parts[-3:]) if is_library(frame) else "/".join(parts[-2:])
    if len(parts) > 2 and parts[0] == "":
        file = parts[-1]
    return f"{name} ({file}{'' if frame.line is None else f':{frame.line}'})"


def get_line(stack: RankStack) -> str | None:
    """The line to look at; None where the stack shows none."""
    frame = stack.found.told_by
    if stack.worker is not None:
        frame = stack.worker.found.told_by or frame
    elif stack.holder:
        frame = next((one for one in stack.holder if not is_library(one)), stack.holder[0])
    return None if frame is None else describe_frame(frame)


def describe_where(stack: RankStack) -> str:
    """What a rank is in, behind the word ``stopped``."""
    line = get_line(stack) or "an unknown place"
    if stack.worker is not None:
        what = _WORKER_WORDS.get(stack.worker.point, "")
        return f"in {line}{what} of a data-loader worker, for which it waits"
    if stack.holder:
        return f"behind a thread that holds the interpreter's lock (GIL) in {line}"
    if (
        stack.point is ProgramPoint.DATA
        and stack.found.told_by in stack.frames[: stack.found.at or 0]
    ):
        return f"in {line}, on the way to its next batch"
    return _WORDS.get(stack.point, "at {line}").format(line=line)


def explain_stack(detector: str, stack: RankStack, verb: str) -> Because:
    """A reason of a claim: who stands where, with the line that shows it."""
    shown = stack.worker or stack
    text = f"{describe_who(stack)} {verb} {describe_where(stack)}"
    return Because(detector, text, shown.artifact, shown.line)


def describe_who(stack: RankStack) -> str:
    """``rank 3``, or its process where no rank is known."""
    if stack.rank is not None:
        return f"rank {stack.rank}"
    return f"process {stack.pid}" if stack.pid is not None else "a process"
