"""Stacks by py-spy, which reads the memory of a process from outside.

Always with ``--nonblocking``: py-spy would stop the process otherwise. With ``--subprocesses`` the
data loader's processes are read too. Local variables are never asked for: they hold data.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from triage.collectors.capture import program
from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE, Question
from triage.collectors.live.program import run_program

if TYPE_CHECKING:
    from triage.collectors.artifact import Deadline
    from triage.collectors.live.processes import RankProcess
    from triage.collectors.live.seen import Seen

_NAME = "py_spy"
_MAX_BYTES = 4 << 20
# Symbols are read anew for each process; without them a dump takes 50 ms.
_DUMP_S = 8.0
# A stack that is read while it changes may make no sense to py-spy; the next one does.
_TRIES = 3
_RIGHTS = "needs the right to read its memory: run as root, or with CAP_SYS_PTRACE"


def find_py_spy(search: str, ranks: tuple[RankProcess, ...]) -> tuple[str, str]:
    """The path of py-spy, or an empty one and why: on ``PATH``, else beside the job's Python.

    As root only a program that belongs to root is run from a folder of the job's user.
    """
    found = program("py-spy", search)
    if found is not None:
        return found, ""
    untrusted = ""
    for folder in dict.fromkeys(folder for one in ranks[:8] for folder in _list_folders(one.seen)):
        path = os.path.join(folder, "py-spy")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            if os.geteuid() != 0 or _is_roots(path):
                return path, ""
            untrusted = path
    if untrusted:
        return "", f"{untrusted} belongs to another user and is not run as root"
    return "", "py-spy is neither on PATH nor beside the job's Python: pip install py-spy"


def dump_stacks(py_spy: str, one: RankProcess, deadline: Deadline) -> tuple[Question, bytes]:
    """The stacks of a rank and of the processes below it, as py-spy prints them."""
    argv = (py_spy, "dump", "--nonblocking", "--subprocesses", "--pid", str(one.seen.pid))
    deadline = deadline.at_most(_DUMP_S)
    data, reply, why = b"", SILENT, "no time was left to ask"
    for _ in range(_TRIES):
        if deadline.passed():
            break
        got = run_program(argv, deadline, _MAX_BYTES)
        data = got.data
        if got.status == 0 and data:
            reply, why = ANSWERED, ""
            break
        reply, why = _explain_trouble(got.errors, got.why)
        if reply != TOOL_FAILED or why == _RIGHTS:
            break
    return Question(_NAME, one.rank, one.seen.pid, reply, why), data


def _explain_trouble(errors: str, why: str) -> tuple[str, str]:
    lowered = errors.lower()
    if "permission denied" in lowered or "operation not permitted" in lowered:
        return TOOL_FAILED, _RIGHTS
    if "no such process" in lowered or "no such file or directory" in lowered:
        return UNREACHABLE, "ended while it was asked"
    if "did not end" in why:
        return SILENT, f"py-spy {why}"
    last = errors.strip().splitlines()[-1:] or [why]
    return TOOL_FAILED, f"py-spy: {last[0][:200]}"


def _list_folders(seen: Seen) -> list[str]:
    """Where the program of a process lies: by its first word, its link, its environment."""
    words = [word for word in (*seen.argv[:1], seen.executable) if os.path.isabs(word)]
    folders = [os.path.dirname(word) for word in words]
    home = (seen.environment or {}).get("VIRTUAL_ENV", "")
    return [*folders, os.path.join(home, "bin")] if os.path.isabs(home) else folders


def _is_roots(path: str) -> bool:
    """Whether only root can have put it there: the file and every folder above it are root's."""
    at = os.path.realpath(path)
    while True:
        status = os.stat(at)
        loose = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
        if status.st_uid != 0 or loose:
            return False
        if at == "/":
            return True
        at = os.path.dirname(at)
