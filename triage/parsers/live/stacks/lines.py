"""The lines of a tool's output, without colours, the threads in them, and what is kept of a long
one.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.patterns import compile_re

# What comes of 16,384 ranks with 24 threads each; more is not a job's.
MAX_THREADS: Final = 400_000

# A name of C++ can be a megabyte of template arguments; what tells it stands in front.
MAX_NAME: Final = 400
# Innermost frames say where a thread stands, outermost ones where in the program.
_MAX_INNER: Final = 192
_MAX_OUTER: Final = 64
# Colours, as a terminal gets them: "\x1b[1;33m20640\x1b[0m".
_COLOUR: Final = compile_re(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
# "libtorch_cuda.so", "libc.so.6", "callproc.c", "ceval.h"
_NATIVE: Final = compile_re(r"\.(?:so(?:\.[0-9.]+)?|c|cc|cpp|cxx|h|hpp|cu|cuh|inl|S|rs)$")


def split_clean_lines(text: str) -> list[str]:
    """The lines, whatever ends them, without colours."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def shorten_name(text: str) -> str:
    """A name as it is kept: of a very long one the beginning."""
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}..."


def make_frame(match: "re.Match[str]") -> StackFrame:
    """A frame of Python by its ``name``, ``file`` and ``line``; what is no number is no line."""
    line = match["line"]
    return StackFrame(
        shorten_name(match["name"]),
        shorten_name(match["file"] or ""),
        int(line) if line.isdecimal() else None,
    )


def clip_line(line: str) -> str:
    """A line as patterns see it."""
    return line[:4096]


def limit_frames(frames: list[StackFrame]) -> tuple[StackFrame, ...]:
    """The frames, innermost first; of an endless recursion both its ends."""
    if len(frames) <= _MAX_INNER + _MAX_OUTER:
        return tuple(frames)
    left = len(frames) - _MAX_INNER - _MAX_OUTER
    middle = StackFrame(f"<{left} frames left out>")
    return (*frames[:_MAX_INNER], middle, *frames[-_MAX_OUTER:])


def is_native_file(filename: str) -> bool:
    """Whether a file is C, C++ or a library."""
    return _NATIVE.search(filename[-64:]) is not None


class ThreadReader(ABC):
    """The threads of a tool's text so far, and the one that is read."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.stacks: list[ThreadStack] = []
        self.count = 0
        self.header: re.Match[str] | None = None
        self.line = 0
        self.frames: list[StackFrame] = []

    @classmethod
    def read(cls, lines: Sequence[str], process: Process, first: int = 1) -> list[ThreadStack]:
        """The threads as they stand. ``first`` is the number of the first line, ``process`` what
        is known of whoever was asked.
        """
        reader = cls(process)
        for number, line in enumerate(lines, first):
            reader.take(number, line)
        reader.end_process()
        return reader.stacks

    def end_process(self) -> None:
        """Keep what was read of one process."""
        self.end_thread()

    @abstractmethod
    def take(self, number: int, line: str) -> None:
        """Read one line; what is none of the tool's is passed over."""

    @abstractmethod
    def make_stack(self, header: re.Match[str]) -> ThreadStack:
        """The thread that was read."""

    def begin_thread(self, header: re.Match[str], number: int) -> None:
        """A thread begins."""
        self.end_thread()
        self.header, self.line = header, number

    def end_thread(self) -> None:
        """Keep the thread that was read."""
        if self.header is not None and self.count < MAX_THREADS:
            self.count += 1
            self.stacks.append(self.make_stack(self.header))
        self.header, self.frames = None, []
