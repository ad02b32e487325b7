"""Where a thread of a program stands, by the first frame from the inside that tells it.

A rank that waits in a collective, for its device or for others to come is a victim. One that
stands anywhere else while they wait is whom they wait for.

Frames are compared without addresses and without what every process has below them. A stack is cut
where the program begins: below the outermost ``<module>`` stand frames of the interpreter, and
below ``_worker_loop`` a data-loader worker still shows its parent's stack of when it forked.
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import Final, NamedTuple

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


class ProgramPoint(StrEnum):
    """What a thread is in."""

    COLLECTIVE = "collective"
    DEVICE = "device"
    STORE = "store"  # rendezvous, init_process_group, new_group, a key of the store
    NCCL_INIT = "nccl_init"
    DATA = "data"
    CHECKPOINT = "checkpoint"
    STORAGE = "storage"  # the kernel waits for a file system
    COMPILE = "compile"
    GIL = "gil"
    LOCK = "lock"
    GC = "gc"
    LOGGING = "logging"
    IMPORT = "import"
    SLEEP = "sleep"
    BREAKPOINT = "breakpoint"
    FILES = "files"
    NETWORK = "network"
    SUBPROCESS = "subprocess"
    TEARDOWN = "teardown"
    DISPATCH = "dispatch"  # in torch, between operations that it gives to its device
    CODE = "code"
    IDLE = "idle"  # an event loop, or a worker without work
    STOPPED = "stopped"
    GONE = "gone"
    UNKNOWN = "unknown"


WAITS: Final = frozenset(
    {ProgramPoint.COLLECTIVE, ProgramPoint.DEVICE, ProgramPoint.STORE, ProgramPoint.NCCL_INIT}
)
VAGUE: Final = frozenset({ProgramPoint.UNKNOWN, ProgramPoint.IDLE})


class _PointRule(NamedTuple):
    """A frame whose bare name and short file match is in ``point``; where it is ``inner``, only
    inside the job's own code.
    """

    point: ProgramPoint
    name: re.Pattern[str]
    file: re.Pattern[str]
    inner: bool

    def fits(self, name: str, file: str) -> bool:
        return self.name.search(name) is not None and self.file.search(file) is not None


def _load_rules(kind: str, whole: str = "{}") -> tuple[_PointRule, ...]:
    """The rows of one kind in the order in which they are asked; ``whole`` stands around names."""
    rules = []
    for row in PROGRAMS[kind]:
        function, file = ("".join(row.get(key, "")) for key in ("function", "file"))
        name = compile_re(whole.format(function) if function else "")
        at = compile_re(f"(?:^|/)(?:{file})")
        rules.append(_PointRule(ProgramPoint(row["point"]), name, at, row.get("inner", False)))
    return tuple(rules)


_PYTHON_RULES: Final = _load_rules("python", "^(?:{})$")
_NATIVE_RULES: Final = _load_rules("native")
_PYTHON_CALLS: Final = _load_rules("call")
KERNEL_STORAGE: Final = compile_re("".join(PROGRAMS["frames"]["storage"]))
_DISPATCHES: Final = compile_re(PROGRAMS["frames"]["dispatches"])


@dataclass(frozen=True, slots=True)
class PointFound:
    """Where a stack stands; ``at`` is the place of the frame that tells it, None where none does.

    ``told_by`` is the innermost frame of the job's own code, else the frame that tells the point,
    else the innermost: the line to look at.
    """

    point: ProgramPoint
    at: int | None
    told_by: StackFrame | None


def find_point(frames: Sequence[StackFrame]) -> PointFound:
    """Where ``frames``, innermost first, stand."""
    if not frames:
        return PointFound(ProgramPoint.UNKNOWN, None, None)
    own = next((one for one in frames if not is_library(one) and one.function != "<module>"), None)
    own = own or next((one for one in frames if not is_library(one)), None)
    inner: tuple[ProgramPoint, int] | None = None
    reached_own = False
    for at, frame in enumerate(frames):
        reached_own = reached_own or (not is_library(frame) and frame.function != "<module>")
        rule = _find_rule(frame.function, frame.filename, frame.native)
        if rule is None:
            continue
        if not rule.inner:
            return PointFound(rule.point, at, own or frame)
        if inner is None and not reached_own:
            inner = (rule.point, at)
    if inner is not None:
        return PointFound(inner[0], inner[1], own or frames[inner[1]])
    if own is None and all(frame.native for frame in frames):
        return _find_python_call(frames) or PointFound(ProgramPoint.UNKNOWN, None, frames[0])
    dispatches = _DISPATCHES.match(shorten_file(frames[0].filename)) is not None
    point = ProgramPoint.DISPATCH if dispatches else ProgramPoint.CODE
    return PointFound(point, None, own or frames[0])


def _find_python_call(frames: Sequence[StackFrame]) -> PointFound | None:
    """What a thread of which no frame of Python is shown waits for in a call of Python's own."""
    for at, frame in enumerate(frames):
        for rule in _PYTHON_CALLS:
            if rule.fits(get_bare_name(frame), ""):
                return PointFound(rule.point, at, frame)
    return None


# Thousands of ranks have the same few hundred frames.
@lru_cache(maxsize=65_536)
def _find_rule(function: str, filename: str, is_native: bool) -> _PointRule | None:
    name, file = get_bare_name(StackFrame(function, native=is_native)), shorten_file(filename)
    rules = _NATIVE_RULES if is_native else _PYTHON_RULES
    return next((rule for rule in rules if rule.fits(name, file)), None)
