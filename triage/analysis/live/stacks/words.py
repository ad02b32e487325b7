"""A stack in words: what a rank is in, and the line to look at."""

from collections.abc import Mapping
from typing import Final

from triage.analysis.live.stacks.program_points import (
    PROGRAMS,
    ProgramPoint,
    is_library,
    shorten_file,
)
from triage.analysis.live.stacks.rank_stack import RankStack
from triage.domain.live.stack import StackFrame
from triage.domain.report import Because

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
