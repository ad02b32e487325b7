"""The steps by which a reader gives up what it does not need, and which of them hold here."""

import ctypes
import errno
import os
import resource
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from triage.sandbox.confinement.seccomp import (
    MACHINE,
    call_prctl,
    filter_system_calls,
    keep_private,
    make_system_call,
)

_PR_SET_NO_NEW_PRIVS: Final = 38
_PACKAGE: Final = Path(__file__).resolve().parents[2]
# Shared libraries, time zones, and the number of processors: what is loaded late reads them.
_SYSTEM_FOLDERS: Final = (
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
        ("rights can be gained", lambda: call_prctl(_PR_SET_NO_NEW_PRIVS, 1)),
        ("other processes may look into it", keep_private),
        ("it reads and writes all files of its user", lambda: _close_files(folders)),
        ("it makes all system calls", _close_system_calls),
    )
    missing = []
    for without, step in steps:
        try:
            step()
        except OSError as error:
            missing.append(f"{without} ({error.strerror or error})")
    return tuple(missing)


def _close_files(folders: Iterable[Path]) -> None:
    # It holds for threads that are started later, not for those that run already.
    if len(os.listdir("/proc/self/task")) > 1:
        raise OSError(errno.EBUSY, "it has other threads already")
    _read_only_below([*folders, *list_code_folders()])


def _close_system_calls() -> None:
    if MACHINE is None:
        raise OSError(errno.ENOSYS, "the numbers of this machine's calls are not known")
    filter_system_calls(MACHINE)


def list_code_folders() -> list[Path]:
    """Where code lies that may be imported late: never the folder of a checkout, which has data."""
    libraries = [sysconfig.get_path("stdlib"), str(sysconfig.get_config_var("LIBDIR") or "")]
    wanted = [*sys.path, *libraries, *_SYSTEM_FOLDERS]
    found = {Path(one).resolve() for one in wanted if one and os.path.isabs(one)}
    return [_PACKAGE, *sorted(found - {_PACKAGE.parent, Path("/"), Path.home().resolve()})]


# One number on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# Rights over files that each version knows beside those before it.
_FILE_RIGHTS: Final = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_NETWORK_SINCE, _ALL_NETWORK = 4, 0b11
_SCOPES_SINCE, _ALL_SCOPES = 6, 0b11  # abstract sockets, and signals to processes outside


def _read_only_below(paths: Iterable[Path]) -> None:
    """Refuse all files but those at or below ``paths``, and every change, with ``EACCES``.

    It holds for the calling thread and those it starts, for good. Needs no rights but
    ``NO_NEW_PRIVS``. A path that is not there is left out. Raises :class:`OSError`.
    """
    version = make_system_call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    files = sum(rights for since, rights in _FILE_RIGHTS.items() if version >= since)
    asked = struct.pack(
        "<QQQ",
        files,
        _ALL_NETWORK if version >= _NETWORK_SINCE else 0,
        _ALL_SCOPES if version >= _SCOPES_SINCE else 0,
    )
    # An older kernel knows no longer form, and takes one whose rest is zero.
    ruleset = make_system_call(_CREATE_RULESET, ctypes.create_string_buffer(asked), len(asked), 0)
    try:
        for path in paths:
            _allow_reading(ruleset, path)
        make_system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow_reading(ruleset: int, path: Path) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = _READ_FILE | (_READ_DIR if path.is_dir() else 0)
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, folder))
        make_system_call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(folder)


# Exit status of one that refuses what it was given, with the reason on stderr.
REFUSED: Final = 3
_OPEN_FILES: Final = 256
# Asked by the kernel who is to go first: not the service.
_OOM_SCORE: Final = "500"


def restrict(memory_bytes: int) -> None:
    """Limits that hold whatever the bytes ask for."""
    for limit, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, most = resource.getrlimit(limit)
        capped = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (capped, capped))
    try:
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")
    except OSError:
        return
