"""Frames as they are compared: without addresses and without what every process has below them.

A stack is cut where the program begins: below the outermost ``<module>`` stand the interpreter's
own frames, and below ``_worker_loop`` a data-loader worker still shows its parent's stack, as it
was when it forked.
"""

import sys
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Final

from triage.domain.live.stack import StackFrame
from triage.domain.patterns import compile_re

# What is known of programs: libraries, rules of where a thread stands, and words.
PROGRAMS: Final = tomllib.loads(
    resources.files(__package__).joinpath("programs.toml").read_text("utf-8")
)
# Frames of a stack that are kept, from the inside; recursion makes thousands.
MAX_FRAMES: Final = 256
# C++ names of templates have kilobytes.
_MAX_NAME: Final = 240

# "/opt/venv/lib/python3.11/site-packages/torch/...", "/usr/lib/python3.11/threading.py"
_SITE: Final = compile_re(r"^.*/(?:site|dist)-packages/")
_STDLIB: Final = compile_re(r"^.*/lib(?:64)?/python3\.\d+/")
_LIBRARIES: Final = frozenset(PROGRAMS["libraries"])
_BETWEEN: Final = compile_re("".join(PROGRAMS["frames"]["between"]))
_STARTS: Final = frozenset(PROGRAMS["frames"]["starts"])


def own_frames(frames: Sequence[StackFrame]) -> tuple[StackFrame, ...]:
    """The frames of the program, innermost first; the same object for equal stacks."""
    kept: list[StackFrame] = []
    for frame in frames[:MAX_FRAMES]:
        if frame.native and _BETWEEN.match(get_bare_name(frame)):
            continue
        kept.append(frame)
        if get_bare_name(frame) == "_worker_loop":
            return tuple(kept)
    modules = [
        place
        for place, frame in enumerate(kept)
        if frame.function == "<module>" and "runpy" not in frame.filename
    ]
    if modules and modules[-1] < len(kept) - 1:
        kept = kept[: modules[-1] + 1]
    return tuple(one for one in kept if one.function not in _STARTS or "runpy" not in one.filename)


@lru_cache(maxsize=65_536)
def _normalize_name(function: str, native: bool) -> str:
    text = function[: 4 * _MAX_NAME]
    if not native:
        return text.rpartition(".")[2][:_MAX_NAME]
    text = text.replace("(anonymous namespace)", "")
    return text.partition("(")[0].strip()[:_MAX_NAME]


def get_bare_name(frame: StackFrame) -> str:
    """The bare name of what is called: ``get`` of ``Queue.get``, a C++ name without arguments."""
    return _normalize_name(frame.function, frame.native)


@lru_cache(maxsize=65_536)
def shorten_file(filename: str) -> str:
    """The path below the folder that modules are searched in: ``torch/utils/data/worker.py``."""
    text = filename[-1024:].replace("\\", "/")
    for root in (_SITE, _STDLIB):
        text = root.sub("", text)
    return text


@lru_cache(maxsize=65_536)
def _is_library_file(filename: str) -> bool:
    if _SITE.match(filename) or _STDLIB.match(filename) or filename.startswith("<frozen"):
        return True
    short = shorten_file(filename)
    if short.startswith("/"):
        return False
    first = short.partition("/")[0]
    return first in _LIBRARIES or first.removesuffix(".py") in sys.stdlib_module_names


def is_library(frame: StackFrame) -> bool:
    """Whether a frame is of a library, rather than of the job's own code."""
    return frame.native or _is_library_file(frame.filename)
