"""Stacks of all threads as Python prints tracebacks: what scripts and Ray fall back to.

::

    # Thread 139741924293504 (MainThread)
      File "/workspace/train.py", line 43, in <module>
        main()
      File "/workspace/train.py", line 37, in main
        batch = next(batches)

Frames are **outermost first**; a line of source follows each.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re
from triage.parsers.live.stacks.lines import clip_line, limit_frames, shorten_name
from triage.parsers.live.stacks.py_spy import MAX_THREADS

# "# Thread 139741924293504 (MainThread)", "# ThreadID: 139741924293504", "# Thread: MainThread"
HEADER: Final = compile_re(
    r"#+ ?Thread(?: ?ID)?:? +(?:(?P<id>0x[0-9a-f]{1,16}|\d{1,20})\b)?[ :,-]*\(?"
    r"(?P<name>[^()\n]{0,200})\)?"
)
# '  File "/workspace/train.py", line 37, in main', 'File: "/w/train.py", line 37, in main'
FRAME: Final = compile_re(
    r' {0,8}File:? "(?P<file>[^"]*)", line (?P<line>\d{1,9}), in (?P<name>.+)'
)


def read_python_traceback(
    lines: Sequence[str], process: Process, first: int = 1
) -> list[ThreadStack]:
    """The threads as they stand, each turned innermost frame first."""
    stacks: list[ThreadStack] = []
    header: re.Match[str] | None = None
    begun = 0
    frames: list[StackFrame] = []

    def end_thread() -> None:
        if header is not None and len(stacks) < MAX_THREADS:
            stacks.append(_make_stack(header, frames, process, begun))

    for number, line in enumerate(lines, first):
        if line.startswith("#"):
            match = HEADER.match(clip_line(line))
            if match is not None:
                end_thread()
                header, begun, frames = match, number, []
        elif header is not None and "File" in line[:12]:
            frame = _parse_frame(clip_line(line))
            if frame is not None:
                frames.append(frame)
    end_thread()
    return stacks


def _make_stack(
    header: re.Match[str], frames: list[StackFrame], process: Process, line: int
) -> ThreadStack:
    name = header["name"].strip() or None
    own = header["id"]
    return ThreadStack(
        process,
        limit_frames(frames[::-1]),
        name,
        None if own is None else int(own, 0) if own.startswith("0x") else int(own),
        None if name is None else name == "MainThread",
        line=line,
    )


@lru_cache(maxsize=8192)
def _parse_frame(line: str) -> StackFrame | None:
    match = FRAME.match(line)
    if match is None:
        return None
    return StackFrame(shorten_name(match["name"]), shorten_name(match["file"]), int(match["line"]))
