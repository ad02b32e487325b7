"""The steps by which a reader gives up what it does not need, and which of them hold here."""

import errno
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from triage.sandbox.confinement.kernel import MACHINE, keep_private, prctl
from triage.sandbox.confinement.landlock import read_only_below
from triage.sandbox.confinement.seccomp import filter_system_calls

__all__ = ["code_folders", "confine"]

PR_SET_NO_NEW_PRIVS: Final = 38
PACKAGE: Final = Path(__file__).resolve().parents[2]
# Shared libraries, time zones, and the number of processors: what is loaded late reads them.
SYSTEM_FOLDERS: Final = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/localtime",
    "/nix/store", "/gnu/store", "/sys/devices/system/cpu",
)  # fmt: skip


def confine(folders: Iterable[Path]) -> tuple[str, ...]:
    """Confine this process for good: what could not be had, each with the reason.

    It reads code and what lies in ``folders``, and opens nothing for writing; it has no network,
    starts no program or process, and touches none but itself. What it tries beyond that fails,
    or ends it with SIGSYS. Call it after everything is compiled and before a second thread.
    """
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        ("rights can be gained", lambda: prctl(PR_SET_NO_NEW_PRIVS, 1)),
        ("other processes may look into it", keep_private),
        ("it reads and writes all files of its user", lambda: close_files(folders)),
        ("it makes all system calls", close_system_calls),
    )
    missing = []
    for without, step in steps:
        try:
            step()
        except OSError as error:
            missing.append(f"{without} ({error.strerror or error})")
    return tuple(missing)


def close_files(folders: Iterable[Path]) -> None:
    # It holds for threads that are started later, not for those that run already.
    if len(os.listdir("/proc/self/task")) > 1:
        raise OSError(errno.EBUSY, "it has other threads already")
    read_only_below([*folders, *code_folders()])


def close_system_calls() -> None:
    if MACHINE is None:
        raise OSError(errno.ENOSYS, "the numbers of this machine's calls are not known")
    filter_system_calls(MACHINE)


def code_folders() -> list[Path]:
    """Where code lies that may be imported late: never the folder of a checkout, which has data."""
    libraries = [sysconfig.get_path("stdlib"), str(sysconfig.get_config_var("LIBDIR") or "")]
    wanted = [*sys.path, *libraries, *SYSTEM_FOLDERS]
    found = {Path(one).resolve() for one in wanted if one and os.path.isabs(one)}
    return [PACKAGE, *sorted(found - {PACKAGE.parent, Path("/"), Path.home().resolve()})]
