"""Whose fault an error is: that of our surroundings, which is waited for, or another's.

The database, the blob store, a folder of ours, memory and processes of this machine are what we
stand on. While one is away nothing that was taken in is at fault: its work waits as long as it
has to, and no try is counted. All other errors count: a reader that was lost may be lost to its
file, and what nobody thought of is a mistake of ours.
"""

import errno
from typing import Final

from triage.errors import StorageFull, Unavailable
from triage.sandbox.errors import ReaderFailed, ReaderNotStarted

THIS_MACHINE: Final = "this machine"
_TEMPORARY: Final = "the temporary folder"
# What a reader says of a file that it was given and cannot open or read.
_OF_FOLDERS: Final = frozenset(
    {"OSError", "FileNotFoundError", "PermissionError", "IsADirectoryError", "NotADirectoryError"}
)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def find_missing_service(error: BaseException | None) -> str | None:
    """What of our surroundings is not there; None where the error is not theirs."""
    if isinstance(error, Unavailable | StorageFull):
        return error.part or THIS_MACHINE
    if isinstance(error, ReaderNotStarted):
        return THIS_MACHINE
    if isinstance(error, ReaderFailed) and error.error in _OF_FOLDERS:
        return _TEMPORARY
    if isinstance(error, OSError):
        return _TEMPORARY if error.errno in _FULL else THIS_MACHINE
    if isinstance(error, MemoryError):
        return THIS_MACHINE
    return None
