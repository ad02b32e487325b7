"""The lines of a tool's output, without colours, and what is kept of a long one."""

import re
from typing import Final

from triage.domain.live.stack import StackFrame
from triage.domain.patterns import compile_re

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
