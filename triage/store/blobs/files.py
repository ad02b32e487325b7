"""What both blob stores have in common: keys, files on their way, parts that are read.

A blob is written once, under a key of ours, and is there as a whole or not at all:
``commit`` returns when it survives the loss of power. Names from outside are never
part of a key.
"""

import errno
import io
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from triage.domain.patterns import compile_re
from triage.errors import Refusal, StorageFull, Unavailable

# How errors and warnings call it.
BLOB_STORE: Final = "the blob store"
_KEY: Final = compile_re(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
# Of one request to an object store: some packs fit into one.
_PIECE: Final = 4 << 20
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# Between two looks at how much room is left.
_LOOK_BYTES: Final = 16 << 20
_FREE_SHARE: Final = 20
_MOST_FREE_BYTES: Final = 64 << 20
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600


@contextmanager
def translate_storage_errors() -> Iterator[None]:
    """What the file system says, as an answer to the request."""
    try:
        yield
    except OSError as error:
        raise _answer_to(error) from error


def _answer_to(error: OSError) -> Refusal:
    if error.errno in _FULL:
        return StorageFull(
            f"no room for the upload: {error.strerror}",
            hint="free or add disk space, then retry",
            part=BLOB_STORE,
        )
    return Unavailable(
        f"the blob store does not take it: {error.strerror}",
        hint="look at the disk's state",
        part=BLOB_STORE,
    )


def _keep_free(folder: Path, min_free_bytes: int | None) -> None:
    """Raises :class:`StorageFull` where less than ``min_free_bytes`` are left."""
    with translate_storage_errors():
        status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    least = min_free_bytes
    if least is None:
        least = min(_MOST_FREE_BYTES, status.f_blocks * status.f_frsize // _FREE_SHARE)
    if free < least:
        raise StorageFull(
            f"{free:,} bytes are left on the disk; {least:,} stay free",
            hint="free or add disk space, then retry",
            part=BLOB_STORE,
        )


class BlobWriter:
    """One blob that is being written, into a file of its own; nobody sees it before ``commit``.

    ``put`` brings the whole file to its place, and raises where it cannot.
    """

    def __init__(
        self, path: Path, min_free_bytes: int | None, put: Callable[["BlobWriter"], None]
    ) -> None:
        self.path = path
        self.min_free_bytes = min_free_bytes
        self.put = put
        self.over = False
        self.size = 0
        self.looked_at = 0
        _keep_free(path.parent, min_free_bytes)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with translate_storage_errors():
            self.descriptor = os.open(path, flags, FILE_MODE)

    def write(self, data: bytes) -> None:
        """All of it. Raises :class:`StorageFull` and :class:`Unavailable`."""
        if self.size - self.looked_at >= _LOOK_BYTES:
            _keep_free(self.path.parent, self.min_free_bytes)
            self.looked_at = self.size
        with translate_storage_errors():
            done = os.write(self.descriptor, data)
            while done < len(data):
                done += os.write(self.descriptor, data[done:])
        self.size += done

    def tell(self) -> int:
        """Bytes written so far."""
        return self.size

    def rewind(self, position: int) -> None:
        """Forgets what was written behind ``position``."""
        if not 0 <= position <= self.size:
            raise ValueError(f"cannot rewind to {position} of {self.size}")
        with translate_storage_errors():
            os.ftruncate(self.descriptor, position)
            os.lseek(self.descriptor, position, os.SEEK_SET)
        self.size = position
        self.looked_at = min(self.looked_at, position)

    def close(self) -> None:
        """Gives the descriptor back; once."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            with translate_storage_errors():
                os.close(descriptor)

    def commit(self) -> None:
        """Makes the blob durable and visible. Raises as ``write`` does, and then nothing stays."""
        if self.over:
            raise ValueError("this blob is committed or aborted already")
        try:
            self.put(self)
        finally:
            self.abort()

    def abort(self) -> None:
        """Leaves nothing; also after a ``commit`` or another ``abort``, which stay as they are."""
        if not self.over:
            self.over = True
            with suppress(Refusal):
                self.close()
            with suppress(OSError):  # it was renamed, or the disk fails
                self.path.unlink()


def check_key(key: str) -> str:
    """``key`` as it is. Raises :class:`ValueError` for one that is not ours."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a blob key: {key[:200]!r}")
    return key


class Section(io.RawIOBase):
    """A part of a blob as a file, read forward by ``read_at(offset, size)`` in whole pieces.

    However little is asked for: to an object store each piece is a request.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], offset: int, size: int) -> None:
        self.read_at = read_at
        self.place = offset
        self.left = size
        self.ahead = memoryview(b"")

    def readable(self) -> bool:
        """True: :class:`io.RawIOBase` asks before it reads."""
        return True

    def readinto(self, buffer: object) -> int:
        """As a raw file."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        if not self.ahead and self.left > 0:
            piece = self.read_at(self.place, min(self.left, _PIECE))
            self.place += len(piece)
            # A blob that ends before its part does has nothing more.
            self.left = self.left - len(piece) if piece else 0
            self.ahead = memoryview(piece)
        part, self.ahead = self.ahead[: len(view)], self.ahead[len(view) :]
        view[: len(part)] = part
        return len(part)


def sweep_folder(folder: Path, older_than_s: float) -> int:
    """Removes the files of ``folder`` that nobody has written to for that time; how many."""
    before = time.time() - older_than_s
    removed = 0
    with translate_storage_errors(), os.scandir(folder) as found:
        for one in found:
            with suppress(FileNotFoundError):
                if one.is_file(follow_symlinks=False) and one.stat().st_mtime < before:
                    os.unlink(one.path)
                    removed += 1
    return removed
