"""A filter of system calls (seccomp), for all threads of this process and for good."""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from typing import Final

from triage.sandbox.confinement.kernel import system_call
from triage.sandbox.confinement.syscalls import (
    ALLOWED,
    CONDITIONS,
    FATAL,
    ITSELF,
    LOOKED_AT,
    Condition,
    numbers,
)

__all__ = ["filter_system_calls", "program"]

Instruction = tuple[int, int, int, int]

# Its number, and how the kernel names the machine to the filter.
SECCOMP: Final = {"x86_64": (317, 0xC000003E), "aarch64": (277, 0xC00000B7)}
SET_MODE_FILTER, ALL_THREADS = 1, 1
KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000
# Instructions of the filter: load a word, return, jump where equal, not less, any bit set.
LOAD, RETURN, EQUAL, NOT_LESS, ANY_BIT = 0x20, 0x06, 0x15, 0x35, 0x45
# What is loaded: the call's number, the machine, and the low half of each argument.
NUMBER_AT, MACHINE_AT, ARGUMENTS_AT = 0, 4, 16
# Beyond it are the calls of another way to call, whose numbers mean other things.
X32: Final = 0x40000000


def filter_system_calls(machine: str) -> None:
    """Allow what readers need, end the process over what none needs; the rest does not exist.

    Needs ``NO_NEW_PRIVS``. Raises :class:`OSError`.
    """
    code = program(machine, os.getpid())
    buffer = ctypes.create_string_buffer(code)
    filter_ = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    number, _ = SECCOMP[machine]
    failed = system_call(number, SET_MODE_FILTER, ALL_THREADS, ctypes.create_string_buffer(filter_))
    if failed:
        raise OSError(errno.EBUSY, f"thread {failed} cannot be filtered")


def program(machine: str, process: int) -> bytes:
    """The filter as the kernel takes it; ``process`` is the only one that may be signalled."""
    code = [(LOAD, 0, 0, MACHINE_AT), (EQUAL, 1, 0, SECCOMP[machine][1]), (RETURN, 0, 0, KILL)]
    code += [(LOAD, 0, 0, NUMBER_AT), (NOT_LESS, 0, 1, X32), (RETURN, 0, 0, KILL)]
    for table, action in ((ALLOWED, ALLOW), (FATAL, KILL)):
        for number in numbers(table, machine).values():
            code += when(number, [(RETURN, 0, 0, action)])
    for name, number in numbers(LOOKED_AT, machine).items():
        code += when(number, looked_at(CONDITIONS[name], process))
    code.append((RETURN, 0, 0, ERROR | errno.ENOSYS))
    return b"".join(struct.pack("<HBBI", *one) for one in code)


def when(number: int, body: list[Instruction]) -> Iterable[Instruction]:
    """``body``, which returns, for this call alone."""
    return [(EQUAL, 0, len(body), number), *body]


def looked_at(condition: Condition, process: int) -> list[Instruction]:
    """Returns by what the argument holds."""
    refuse = (RETURN, 0, 0, ERROR | condition.error if condition.error else KILL)
    allow = (RETURN, 0, 0, ALLOW)
    code: list[Instruction] = [(LOAD, 0, 0, ARGUMENTS_AT + 8 * condition.argument)]
    if condition.never:
        code += [(ANY_BIT, 0, 1, condition.never), refuse]
    if condition.always:
        code += [(ANY_BIT, 1, 0, condition.always), refuse]
    for value in condition.values:
        code += [(EQUAL, 0, 1, process if value == ITSELF else value), allow]
    return [*code, refuse if condition.values else allow]
