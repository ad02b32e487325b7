"""A filter of system calls (seccomp), for all threads of this process and for good.

Calls of the kernel that Python has no function for. All raise :class:`OSError`.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_Instruction = tuple[int, int, int, int]

# Its number, and how the kernel names the machine to the filter.
_SECCOMP: Final = {"x86_64": (317, 0xC000003E), "aarch64": (277, 0xC00000B7)}
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
# Instructions of the filter: load a word, return, jump where equal, not less, any bit set.
_LOAD, _RETURN, _EQUAL, _NOT_LESS, _ANY_BIT = 0x20, 0x06, 0x15, 0x35, 0x45
# What is loaded: the call's number, the machine, and the low half of each argument.
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
# Beyond it are the calls of another way to call, whose numbers mean other things.
_X32: Final = 0x40000000


def filter_system_calls(machine: str) -> None:
    """Allow what readers need, end the process over what none needs; the rest does not exist.

    Needs ``NO_NEW_PRIVS``. Raises :class:`OSError`.
    """
    code = build_filter_program(machine, os.getpid())
    buffer = ctypes.create_string_buffer(code)
    filter_ = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    number, _ = _SECCOMP[machine]
    failed = make_system_call(
        number, _SET_MODE_FILTER, _ALL_THREADS, ctypes.create_string_buffer(filter_)
    )
    if failed:
        raise OSError(errno.EBUSY, f"thread {failed} cannot be filtered")


def build_filter_program(machine: str, process: int) -> bytes:
    """The filter as the kernel takes it; ``process`` is the only one that may be signalled."""
    code = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, _SECCOMP[machine][1]),
        (_RETURN, 0, 0, _KILL),
    ]
    code += [(_LOAD, 0, 0, _NUMBER_AT), (_NOT_LESS, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for table, action in ((ALLOWED, _ALLOW), (FATAL, _KILL)):
        for number in map_call_numbers(table, machine).values():
            code += _match_call(number, [(_RETURN, 0, 0, action)])
    for name, number in map_call_numbers(LOOKED_AT, machine).items():
        code += _match_call(number, _check_argument(CONDITIONS[name], process))
    code.append((_RETURN, 0, 0, _ERROR | errno.ENOSYS))
    return b"".join(struct.pack("<HBBI", *one) for one in code)


def _match_call(number: int, body: list[_Instruction]) -> Iterable[_Instruction]:
    """``body``, which returns, for this call alone."""
    return [(_EQUAL, 0, len(body), number), *body]


# What stands in neither list does not exist for a reader: libraries that try a newer call
# (``clone3``, ``openat2``) then take the older one.

_MACHINES: Final = ("x86_64", "aarch64")
# name, x86_64, aarch64; - where it has none
ALLOWED: Final = """
read 0 63, pread64 17 67, readv 19 65, write 1 64, writev 20 66, lseek 8 62, close 3 57, dup 32 23,
fadvise64 221 223, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72,
stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48,
faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents64 217 61, getcwd 79 17,
mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214,
mincore 27 232, membarrier 324 283, futex 202 98, futex_waitv 449 449, set_robust_list 273 99,
rseq 334 293, exit 60 93, exit_group 231 94, sched_yield 24 124, sched_getaffinity 204 123,
getcpu 309 168, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
nanosleep 35 101, gettimeofday 96 169, time 201 -, times 100 153, getrusage 98 165,
getrlimit 97 163, getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174, geteuid 107 175,
getgid 104 176, getegid 108 177, sysinfo 99 179, uname 63 160, getrandom 318 278,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132,
restart_syscall 219 128
"""
# Network, other programs, other processes, the kernel, other rights: whoever asks is no reader.
FATAL: Final = """
socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202,
accept4 288 242, sendto 44 206, sendmsg 46 211, sendmmsg 307 269, recvmsg 47 212,
execve 59 221, execveat 322 281, fork 57 -, vfork 58 -, unshare 272 97, setns 308 268,
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424, tkill 200 130,
rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, move_mount 429 429,
open_tree 428 428, fsopen 430 430, fsmount 432 432, mount_setattr 442 442, mknod 133 -,
mknodat 259 33, open_by_handle_at 304 265, bpf 321 280, perf_event_open 298 241,
io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, kexec_load 246 104,
kexec_file_load 320 294, init_module 175 105, finit_module 313 273, delete_module 176 106,
keyctl 250 219, add_key 248 217, request_key 249 218, userfaultfd 323 282, reboot 169 142,
setuid 105 146, setgid 106 144, setresuid 117 147, setresgid 119 149, setgroups 116 159,
capset 126 91
"""
# Allowed by what one argument holds; see :data:`CONDITIONS`.
LOOKED_AT: Final = """
openat 257 56, open 2 -, clone 56 220, kill 62 129, tgkill 234 131, ioctl 16 29,
fcntl 72 25, prctl 157 167
"""

# Flags of `clone`: a thread of this process; any namespace of its own.
_CLONE_THREAD: Final = 0x10000
_CLONE_NEW: Final = 0x7E020000
_CHANGES_A_FILE: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_DUPLICATE, _GETFD, _SETFD, _GETFL, _SETFL, _DUPLICATE_CLOEXEC = 0, 1, 2, 3, 4, 1030
_TCGETS, _FIONREAD, _FIONCLEX, _FIOCLEX = 0x5401, 0x541B, 0x5450, 0x5451
_PR_SET_NAME, _PR_GET_NAME, _PR_SET_VMA = 15, 16, 0x53564D41
# Stands for the number of the process itself, which is known when it is confined.
_ITSELF: Final = -1


@dataclass(frozen=True, slots=True)
class Condition:
    """Allowed by one ``argument``: with none of the bits of ``never``, and with one of ``values``.

    Without ``values``, with all bits of ``always``. Else it is ``error``; 0: it ends the process.
    """

    argument: int
    never: int = 0
    always: int = 0
    values: tuple[int, ...] = ()
    error: int = 0


CONDITIONS: Final[dict[str, Condition]] = {
    "openat": Condition(2, never=_CHANGES_A_FILE, error=13),
    "open": Condition(1, never=_CHANGES_A_FILE, error=13),
    "clone": Condition(0, never=_CLONE_NEW, always=_CLONE_THREAD),
    "kill": Condition(0, values=(_ITSELF,)),
    "tgkill": Condition(0, values=(_ITSELF,)),
    "ioctl": Condition(1, values=(_TCGETS, _FIONREAD, _FIONCLEX, _FIOCLEX), error=25),
    "fcntl": Condition(
        1, values=(_DUPLICATE, _GETFD, _SETFD, _GETFL, _SETFL, _DUPLICATE_CLOEXEC), error=22
    ),
    "prctl": Condition(0, values=(_PR_SET_NAME, _PR_GET_NAME, _PR_SET_VMA), error=1),
}


def map_call_numbers(table: str, machine: str) -> dict[str, int]:
    """The calls that a table lists and this machine has, with their numbers."""
    column = _MACHINES.index(machine) + 1
    rows = [row.split() for row in table.split(",")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _check_argument(condition: Condition, process: int) -> list[_Instruction]:
    """Returns by what the argument holds."""
    refuse = (_RETURN, 0, 0, _ERROR | condition.error if condition.error else _KILL)
    allow = (_RETURN, 0, 0, _ALLOW)
    code: list[_Instruction] = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * condition.argument)]
    if condition.never:
        code += [(_ANY_BIT, 0, 1, condition.never), refuse]
    if condition.always:
        code += [(_ANY_BIT, 1, 0, condition.always), refuse]
    for value in condition.values:
        code += [(_EQUAL, 0, 1, process if value == _ITSELF else value), allow]
    return [*code, refuse if condition.values else allow]


_PR_SET_DUMPABLE: Final = 4
_MACHINES_BY_NAME: Final = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "aarch64",
}
# Whose numbers of system calls hold here; None where we know none.
MACHINE: Final = (
    _MACHINES_BY_NAME.get(platform.machine().lower())
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
