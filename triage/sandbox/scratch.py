"""The folder of one worker for files on their way; what a killed one left goes at a later start.

A killed worker removes nothing. Where temporary files lie on a disk that outlives it (a volume,
``/var/tmp``) the copies of uploads would stay until the disk is full. A lock on the folder says
whether its worker lives: the kernel gives it up however the worker ends, and processes that the
worker forked hold it too.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger(__name__)

_PREFIX: Final = "triage-worker-"
# A worker that starts beside has made its folder and not locked it yet.
YOUNG_S: Final = 600.0


def own_scratch() -> Path:
    """A new folder of this process, in which all its temporary files lie from now on."""
    root = Path(tempfile.gettempdir())
    remove_abandoned(root)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
    _try_lock_folder(folder)
    tempfile.tempdir = str(folder)
    return folder


def remove_abandoned(root: Path) -> None:
    """Remove the folders of workers that are gone; those of other users are left alone."""
    for folder in root.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            young = time.time() - status.st_mtime < YOUNG_S
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or young:
                continue
            handle = _try_lock_folder(folder)
            if handle is None:
                continue
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)
            log.info("files of a worker that was killed are removed", folder=str(folder))


def _try_lock_folder(folder: Path) -> int | None:
    """The descriptor that holds the lock of a folder; None where somebody else holds it.

    It stays open until its process ends, and no other program inherits it.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
