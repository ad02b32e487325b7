"""Calls of the kernel that Python has no function for. All raise :class:`OSError`."""

import ctypes
import errno
import os
import platform
import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4
_MACHINES: Final = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
# Whose numbers of system calls hold here; None where we know none.
MACHINE: Final = (
    _MACHINES.get(platform.machine().lower())
    if sys.platform == "linux" and sys.maxsize > 1 << 32
    else None
)


def call_prctl(option: int, argument: int = 0) -> None:
    """``call_prctl(option, argument, 0, 0, 0)``."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    number = ctypes.c_ulong
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, number(argument), number(0), number(0), number(0)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def make_system_call(number: int, *arguments: object) -> int:
    """What the call returned; integers are passed as 64 bits, buffers by reference."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    passed = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(call(ctypes.c_long(number), *passed))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def keep_private() -> None:
    """Close this process's memory and environment to other processes of the same user.

    Nobody but root reads ``/proc/PID/environ`` then, attaches a debugger or gets a core dump.
    """
    call_prctl(_PR_SET_DUMPABLE, 0)
