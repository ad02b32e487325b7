"""What Python's faulthandler prints: on a signal, after a time, in a crash, for PyTorch's server.

::

    Thread 0x00007fb3bcff96c0 (most recent call first):
      File "/usr/local/lib/python3.11/threading.py", line 327 in wait

    Current thread 0x00007fb3eca06b80 [python3] (most recent call first):
      File "/workspace/train.py", line 37 in main
      File "/workspace/train.py", line 43 in <module>

Frames are innermost first, the newest thread first, and the main thread last. Behind 100 threads
it prints ``...`` and leaves out the rest, the main thread among them. Between the threads of one
dump stands an empty line; between two dumps that were written to one file stands none.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re
from triage.parsers.live.stacks.lines import (
    ThreadReader,
    clip_line,
    limit_frames,
    make_frame,
    shorten_name,
)

MARK: Final = "(most recent call first):"
# "Current thread 0x00007f5eeaffd6c0 [pt_main] (most recent call first):", "Stack (most recent ..."
THREAD: Final = compile_re(
    r"(?:(?P<current>Current )?[Tt]hread (?P<id>0x[0-9a-f]{1,16})(?: \[(?P<name>[^\n]{0,64})\])?"
    r"|Stack) \(most recent call first\):$"
)
# "Current thread's C stack trace (most recent call first):", from Python 3.14 on
_C_STACK: Final = "Current thread's C stack trace"
# "Fatal Python error: Segmentation fault", "Timeout (0:00:10)!"
FATAL: Final = compile_re(r"Fatal Python error: (.*)$|(Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\))!$")
# '  File "/workspace/train.py", line 37 in main', '  File ???, line ??? in f'
_FRAME: Final = compile_re(
    r'  File (?:"(?P<file>.*)"|\?\?\?), line (?P<line>\d{1,9}|\?\?\?) in (?P<name>.*)$'
)
# '  Binary file "/lib/x86_64-linux-gnu/libc.so.6", at pthread_kill+0x11c [0x7f4db1ad44a3]'
_BINARY: Final = compile_re(
    r'  Binary file "(?P<file>.*)"(?:, at (?P<name>.*?)(?:\+0x[0-9a-f]+)?)? \[0x'
)
_NO_FRAME: Final = "<no Python frame>"
# From here outwards a C stack is Python's own, which its frames tell better.
_EVALUATES: Final = compile_re(r"_?PyEval_|_Py_Call|_PyObject_")
# What threading.py runs every other thread in.
_BOOTSTRAP: Final = "_bootstrap"


def read_faulthandler_rounds(
    lines: Sequence[str], process: Process, first: int = 1, whole: bool = True
) -> list[list[ThreadStack]]:
    """The threads of each dump, as they stand. ``first`` is the number of the first line.

    ``whole`` is whether the text ends where the tool ended: of a dump that is cut the last thread
    is not known to be the main one.
    """
    reader = FaulthandlerReader(process)
    for number, line in enumerate(lines, first):
        reader.take(number, line)
    reader.end_dump(whole)
    return reader.rounds


class FaulthandlerReader(ThreadReader):
    """The dumps so far; ``stacks`` are the threads of the dump that is read."""

    def __init__(self, process: Process) -> None:
        super().__init__(process)
        self.rounds: list[list[ThreadStack]] = []
        self.ids: set[str] = set()
        self.c_frames: list[StackFrame] | None = None
        self.exception: str | None = None
        self.current: int | None = None
        self.left_out = False
        self.blank = True

    def take(self, number: int, line: str) -> None:
        """Read one line; what is none of faulthandler's is passed over."""
        blank, self.blank = self.blank, not line
        if line.startswith("  "):
            if self.c_frames is not None:
                self.c_frames.append(_parse_file_frame(line))
            elif self.header is not None:
                self.frames.append(_parse_file_frame(line))
        elif line.endswith(MARK):
            self.take_header(number, clip_line(line), blank)
        elif line == "..." and self.header is not None:
            self.end_thread()
            self.left_out = True
        elif line.startswith(("Fatal Python error: ", "Timeout (")):
            fatal = FATAL.match(clip_line(line))
            if fatal is not None:
                self.end_dump()
                self.exception = shorten_name(fatal[1]) if fatal[1] else None
        elif line:
            self.end_thread()

    def take_header(self, number: int, line: str, blank: bool) -> None:
        """A thread begins; it is of the same dump where an empty line stands above it."""
        header = THREAD.match(line)
        if header is not None:
            self.end_thread()
            own = header["id"] or ""
            if self.stacks and (not blank or own in self.ids):
                self.end_dump()
            self.begin_thread(header, number)
            self.ids.add(own)
        elif line.startswith(_C_STACK):
            self.end_thread()
            self.c_frames = []

    def make_stack(self, header: re.Match[str]) -> ThreadStack:
        """The thread that was read."""
        current = header["current"] is not None
        if current:
            self.current = len(self.stacks)
        return ThreadStack(
            self.process,
            limit_frames(self.frames),
            header["name"],
            None if header["id"] is None else int(header["id"], 16),
            exception=self.exception if current or header["id"] is None else None,
            line=self.line,
        )

    def end_thread(self) -> None:
        """Keep the thread that was read, or the C frames above Python's, of the thread that
        printed them.
        """
        place = self.current if self.current is not None else len(self.stacks) - 1
        if self.c_frames and place >= 0:
            above = takewhile(lambda frame: not _EVALUATES.match(frame.function), self.c_frames)
            thread = self.stacks[place]
            self.stacks[place] = replace(thread, frames=limit_frames([*above, *thread.frames]))
        self.c_frames = None
        super().end_thread()

    def end_dump(self, whole: bool = True) -> None:
        """Keep the dump that was read, with its main thread."""
        self.end_thread()
        last = len(self.stacks) - 1
        dump = [
            replace(one, is_main=_is_main_thread(one, place == last and whole, self.left_out))
            for place, one in enumerate(self.stacks)
        ]
        if dump:
            self.rounds.append(dump)
        self.stacks, self.ids, self.current = [], set(), None
        self.exception, self.left_out = None, False


def _is_main_thread(thread: ThreadStack, last: bool, left_out: bool) -> bool | None:
    """Whether a thread of a dump is its main one; None where nothing says it."""
    if thread.thread_id is None:
        return None  # "Stack (most recent call first):" is of the caller, whoever it is
    if left_out or not last:
        return False
    outermost = thread.frames[-1] if thread.frames else None
    if outermost is None or outermost.function == _NO_FRAME:
        return None
    return not (outermost.function == _BOOTSTRAP and outermost.filename.endswith("threading.py"))


@lru_cache(maxsize=8192)
def _parse_file_frame(line: str) -> StackFrame:
    """``  File "/workspace/train.py", line 37 in main``: thousands of ranks print the same."""
    line = clip_line(line)
    if (match := _FRAME.match(line)) is not None:
        return make_frame(match)
    if (match := _BINARY.match(line)) is not None:
        name, file = match["name"] or "??", match["file"]
        return StackFrame(shorten_name(name), shorten_name(file), native=True)
    return StackFrame(shorten_name(line.strip()))


# Stacks of all threads as Python prints tracebacks: what scripts and Ray fall back to.
#
# ::
#
#     # Thread 139741924293504 (MainThread)
#       File "/workspace/train.py", line 43, in <module>
#         main()
#       File "/workspace/train.py", line 37, in main
#         batch = next(batches)
#
# Frames are **outermost first**; a line of source follows each.

# "# Thread 139741924293504 (MainThread)", "# ThreadID: 139741924293504", "# Thread: MainThread"
HEADER: Final = compile_re(
    r"#+ ?Thread(?: ?ID)?:? +(?:(?P<id>0x[0-9a-f]{1,16}|\d{1,20})\b)?[ :,-]*\(?"
    r"(?P<name>[^()\n]{0,200})\)?"
)
# '  File "/workspace/train.py", line 37, in main', 'File: "/w/train.py", line 37, in main'
FRAME: Final = compile_re(
    r' {0,8}File:? "(?P<file>[^"]*)", line (?P<line>\d{1,9}), in (?P<name>.+)'
)


class _TracebackReader(ThreadReader):
    """Each thread is turned innermost frame first."""

    def take(self, number: int, line: str) -> None:
        if line.startswith("#"):
            match = HEADER.match(clip_line(line))
            if match is not None:
                self.begin_thread(match, number)
        elif self.header is not None and "File" in line[:12]:
            frame = _parse_traceback_frame(clip_line(line))
            if frame is not None:
                self.frames.append(frame)

    def make_stack(self, header: re.Match[str]) -> ThreadStack:
        name, own = header["name"].strip() or None, header["id"]
        return ThreadStack(
            self.process,
            limit_frames(self.frames[::-1]),
            name,
            None if own is None else int(own, 0) if own.startswith("0x") else int(own),
            None if name is None else name == "MainThread",
            line=self.line,
        )


read_python_traceback: Final = _TracebackReader.read


@lru_cache(maxsize=8192)
def _parse_traceback_frame(line: str) -> StackFrame | None:
    match = FRAME.match(line)
    return None if match is None else make_frame(match)
