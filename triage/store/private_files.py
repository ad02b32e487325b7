"""Folders and files of one user alone: databases, blobs and keys are read by nobody else.

What is ours and too wide is narrowed. What belongs to somebody else, or lies where anybody
could put another in its place, is refused: its owner could read, change or lock it.
"""

import os
import pwd
import stat
from pathlib import Path
from typing import Final

import structlog

from triage.errors import UsageError

log = structlog.get_logger(__name__)

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_OTHERS: Final = 0o077
_LEFT_BY_A_SERVICE: Final = frozenset({"triage.db", "serve.lock", "blobs", "spool", "incoming"})


def make_private_folder(folder: Path, *, make: bool = True) -> Path:
    """``folder`` with mode 0700, made where it is missing; without ``make`` it stays missing.

    Raises :class:`UsageError` with the command that mends it where it is another user's, or
    where a folder above it lets everybody rename what is inside.
    """
    try:
        if make:
            folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        elif not folder.exists():
            return folder
        real = folder.resolve(strict=True)
        status = real.stat()
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}; name another folder") from (
            error
        )
    _refuse_foreign(real, status, f"or name a folder of your own: TRIAGE_DATA_DIR={real}/triage")
    for above in real.parents:
        if above.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            raise UsageError(
                f"everybody may rename what is in {above}, and with it {folder}:"
                f" `chmod o-w {above}` (or +t) first"
            )
    if status.st_mode & _OTHERS and not _is_ours(real, status):
        # /tmp or a home folder, named by mistake, is not narrowed for those who share it.
        raise UsageError(
            f"others may read {folder}, and it holds more than this service's files:"
            f" `chmod 700 {folder}`, or name a folder of its own: TRIAGE_DATA_DIR={real}/triage"
        )
    _narrow(real, status, _FOLDER_MODE)
    return folder


def _is_ours(folder: Path, status: os.stat_result) -> bool:
    """Whether it is empty, or holds what a service leaves there, and has no sticky bit."""
    names = {path.name for path in folder.iterdir()} - {"lost+found"}
    return not status.st_mode & stat.S_ISVTX and (not names or bool(names & _LEFT_BY_A_SERVICE))


def make_file_private(path: Path) -> None:
    """Narrow a file to mode 0600; one that is missing is left so.

    Raises :class:`UsageError` where it is no plain file, or another user's.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path} is no plain file: move it away, then start again")
    _refuse_foreign(path, status, "or move it away")
    _narrow(path, status, _FILE_MODE)


def _refuse_foreign(path: Path, status: os.stat_result, otherwise: str) -> None:
    if status.st_uid == os.geteuid():
        return
    mode = _FOLDER_MODE if stat.S_ISDIR(status.st_mode) else _FILE_MODE
    raise UsageError(
        f"{path} belongs to {_find_user_name(status.st_uid)}, and this runs as"
        f" {_find_user_name(os.geteuid())}: run it as that user,"
        f" `chown {_find_user_name(os.geteuid())} {path} && chmod {mode:o} {path}`, {otherwise}"
    )


def _narrow(path: Path, status: os.stat_result, mode: int) -> None:
    if not status.st_mode & _OTHERS:
        return
    try:
        path.chmod(mode)
    except OSError as error:
        raise UsageError(
            f"others may read {path}, and it cannot be narrowed ({error.strerror}):"
            f" `chmod {mode:o} {path}`"
        ) from error
    log.info("others could read it: narrowed", path=str(path), mode=f"{mode:o}")


def _find_user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
