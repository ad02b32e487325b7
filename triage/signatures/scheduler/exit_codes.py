"""What the exit of a process says: a signal or a number, as any launcher prints it.

A launcher prints a negative number (``-9``), a shell and Kubernetes 128 + the
signal (``137``). SIGKILL is usually the memory killer, but a scheduler sends it
too; SIGABRT is how a library ends a process after it has printed its reason;
SIGTERM and exit 1 say nothing about a cause.
"""

from triage.domain.category import Category
from triage.domain.evidence import Blame, EvidenceRole
from triage.signatures.signature import Reading

SIGNAL_NUMBER = {
    "SIGHUP": 1,
    "SIGINT": 2,
    "SIGQUIT": 3,
    "SIGILL": 4,
    "SIGTRAP": 5,
    "SIGABRT": 6,
    "SIGBUS": 7,
    "SIGFPE": 8,
    "SIGKILL": 9,
    "SIGUSR1": 10,
    "SIGSEGV": 11,
    "SIGUSR2": 12,
    "SIGPIPE": 13,
    "SIGALRM": 14,
    "SIGTERM": 15,
    "SIGXCPU": 24,
}

_FRAMEWORK = (Category.SOFTWARE_FRAMEWORK, (Category.SOFTWARE_USER,))


def read_signal(number: int) -> Reading:
    """The reading of a process that ended by signal ``number``."""
    root = EvidenceRole.ROOT
    match number:
        case 9:
            return Reading(role=root, category=Category.HOST_OOM, weak=True)
        case 7:  # a page of shared memory that the file system could not back
            return Reading(role=root, category=Category.HOST_OOM, weak=False)
        case 11:
            category, also = _FRAMEWORK
            return Reading(role=root, category=category, also=also, weak=False)
        case 4 | 8:  # a binary built for another CPU, a division in C code
            return Reading(
                role=root,
                category=Category.SOFTWARE_FRAMEWORK,
                also=(Category.DEPENDENCY, Category.CPU),
                weak=True,
            )
        case 2:
            return Reading(
                role=root, category=Category.HOST_MAINTENANCE, blame=Blame.NOBODY, weak=True
            )
    return Reading(role=EvidenceRole.CONSEQUENCE, blame=Blame.NOBODY)


def read_exit_code(code: int) -> Reading:
    """The reading of an exit code: negative or above 128 for a signal."""
    if code < 0:
        return read_signal(-code)
    if 128 < code < 160:
        return read_signal(code - 128)
    return Reading(role=EvidenceRole.CONSEQUENCE, blame=Blame.NOBODY)
