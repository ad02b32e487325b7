"""Stacks of processes, as py-spy, faulthandler, gdb and the kernel print them."""

from dataclasses import dataclass

from triage.domain.live.process import Process


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One call. ``filename`` is a source file as printed, or the library of a native frame;
    ``line`` is None where none is printed. ``native`` is whether it is C, C++ or the kernel's.
    """

    function: str
    filename: str = ""
    line: int | None = None
    native: bool = False

    def __str__(self) -> str:
        where = f" ({self.filename}{'' if self.line is None else f':{self.line}'})"
        return f"{self.function}{where if self.filename else ''}"


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """One thread of one process. ``frames`` are innermost first.

    ``is_main`` is whether it is the thread that the process began with, None where nothing says
    it. ``active`` (on a CPU) and ``owns_gil`` are None where the tool does not tell. ``state`` is
    the kernel's letter (``D``, ``T``, ``S``, ``R``, ``Z``), ``waits_in`` the kernel's wait channel.
    ``exception`` is what a traceback or a debugger says that ended it. ``line`` is where it begins
    in the file, from 1.
    """

    process: Process
    frames: tuple[StackFrame, ...]
    thread_name: str | None = None
    thread_id: int | None = None
    is_main: bool | None = None
    active: bool | None = None
    owns_gil: bool | None = None
    state: str | None = None
    waits_in: str | None = None
    exception: str | None = None
    line: int | None = None
