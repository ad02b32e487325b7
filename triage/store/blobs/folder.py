"""Blobs in a folder: written beside, made durable, then renamed into their place."""

import errno
import hashlib
import io
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from triage.errors import NotFound, Refusal, StorageFull, Unavailable
from triage.store.blobs.interface import BLOB_STORE, Section, check_key

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# Between two looks at how much room is left.
_LOOK_BYTES: Final = 16 << 20
_FREE_SHARE: Final = 20
_MOST_FREE_BYTES: Final = 64 << 20
FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


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


def measure_free(folder: Path) -> tuple[int, int]:
    """(bytes that are free to us, bytes in all) of the file system of ``folder``."""
    with translate_storage_errors():
        status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize


def keep_free(folder: Path, min_free_bytes: int | None) -> None:
    """Raises :class:`StorageFull` where less than ``min_free_bytes`` are left."""
    free, total = measure_free(folder)
    least = min_free_bytes
    if least is None:
        least = min(_MOST_FREE_BYTES, total // _FREE_SHARE)
    if free < least:
        raise StorageFull(
            f"{free:,} bytes are left on the disk; {least:,} stay free",
            hint="free or add disk space, then retry",
            part=BLOB_STORE,
        )


class TempFile:
    """A file that is not yet in its place."""

    def __init__(self, path: Path, min_free_bytes: int | None) -> None:
        self.path = path
        self.min_free_bytes = min_free_bytes
        self.size = 0
        self.looked_at = 0
        keep_free(path.parent, min_free_bytes)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with translate_storage_errors():
            self.descriptor = os.open(path, flags, _FILE_MODE)

    def write(self, data: bytes) -> None:
        """All of it. Raises :class:`StorageFull` and :class:`Unavailable`."""
        if self.size - self.looked_at >= _LOOK_BYTES:
            keep_free(self.path.parent, self.min_free_bytes)
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

    def remove(self) -> None:
        """Closes and removes it, whatever the disk says to that."""
        with suppress(Refusal):
            self.close()
        with suppress(OSError):
            self.path.unlink()


class FolderWriter:
    """One blob on its way into a folder."""

    def __init__(self, temp: TempFile, place: Path, make_folder: Callable[[Path], None]) -> None:
        self.temp = temp
        self.place = place
        self.make_folder = make_folder
        self.over = False
        self.write = temp.write
        self.tell = temp.tell
        self.rewind = temp.rewind

    def commit(self) -> None:
        """Data first, then the name, then the folder that holds the name."""
        if self.over:
            raise ValueError("this blob is committed or aborted already")
        renamed = False
        try:
            with translate_storage_errors():
                os.fsync(self.temp.descriptor)
                self.temp.close()
                self.make_folder(self.place.parent)
                os.rename(self.temp.path, self.place)
                renamed = True
                _sync_folder(self.place.parent)
        except Refusal:
            if renamed:
                with suppress(OSError):
                    self.place.unlink()
            self.abort()
            raise
        self.over = True

    def abort(self) -> None:
        """Leaves nothing of an uncommitted blob."""
        if not self.over:
            self.over = True
            self.temp.remove()


class FolderBlobs:
    """A folder of blobs on a local or shared file system."""

    def __init__(self, root: Path, *, min_free_bytes: int | None = None) -> None:
        self.root = root
        self.incoming = root / "incoming"
        self.min_free_bytes = min_free_bytes
        self.durable: set[Path] = set()
        self.made = root.with_name(f"{root.name}.made")
        with translate_storage_errors():
            self.make_root()

    def make_root(self) -> None:
        """The folder, if there never was one.

        One that was there and is gone, or is empty, is a volume that is not mounted: what would be
        written to its place is out of sight when it is back.
        """
        if not self.made.exists():
            self.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        elif not (self.root.is_dir() and any(self.root.iterdir())):
            return
        self.incoming.mkdir(mode=FOLDER_MODE, exist_ok=True)
        _sync_folder(self.root)
        self.made.mkdir(mode=FOLDER_MODE, exist_ok=True)
        _sync_folder(self.root.parent)

    def check_there(self) -> None:
        """Raises :class:`Unavailable` while the folder is away."""
        if not self.incoming.is_dir():
            raise Unavailable(
                f"the blob folder {self.root} is not there",
                hint="mount its volume, or put it back from the backup; if it is to begin anew,"
                f" remove {self.made} and start the service again",
            )

    def place(self, key: str) -> Path:
        """Where a blob lies: two folders deep, so that none grows beyond measure.

        256 of them hold a million blobs well, and are soon all there: each new one
        costs the upload that comes first a wait for the disk.
        """
        fan = hashlib.blake2b(check_key(key).encode(), digest_size=1).hexdigest()
        return self.root / fan[0] / fan[1] / key

    def begin(self, key: str) -> FolderWriter:
        """A new blob, written into ``incoming`` first."""
        place = self.place(key)
        self.check_there()
        path = self.incoming / f"{key}.{secrets.token_hex(8)}"
        return FolderWriter(TempFile(path, self.min_free_bytes), place, self.make_folder)

    def make_folder(self, folder: Path) -> None:
        """``folder`` below the root, its name durable in the folder that holds it."""
        # Another process may have made it and not synced it yet.
        if folder == self.root or folder in self.durable:
            return
        self.make_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        _sync_folder(folder.parent)
        self.durable.add(folder)

    def read(self, key: str, offset: int, size: int) -> bytes:
        """``size`` bytes; fewer where the blob ends. Raises :class:`NotFound`."""
        with self.open(key, offset, size) as part:
            return part.read()

    def open(self, key: str, offset: int, size: int) -> io.BufferedReader:
        """The same as a file that is read piece by piece."""
        try:
            section = _FileSection(self.place(key), offset, size)
        except FileNotFoundError as error:
            raise NotFound(f"no blob {key}") from error
        except OSError as error:
            raise _answer_to(error) from error
        return io.BufferedReader(section)

    def delete(self, key: str) -> None:
        """Removes a blob; one that is not there is removed already."""
        with translate_storage_errors():
            self.place(key).unlink(missing_ok=True)

    def keys(self) -> Iterator[str]:
        """All blobs that are there, in no order."""
        with translate_storage_errors():
            for path in self.root.glob("[0-9a-f]/[0-9a-f]/*"):
                yield path.name

    def marks(self) -> set[str]:
        """The names of the files in the folder ``marks``."""
        with translate_storage_errors():
            folder = self.root / "marks"
            return {path.name for path in folder.iterdir()} if folder.exists() else set()

    def mark(self, mark: str) -> None:
        """An empty file, its name durable."""
        with translate_storage_errors():
            place = self.root / "marks" / check_key(mark)
            self.make_folder(place.parent)
            place.touch(_FILE_MODE)
            _sync_folder(place.parent)

    def unmark(self, mark: str) -> None:
        """Removes the file."""
        with translate_storage_errors():
            (self.root / "marks" / check_key(mark)).unlink(missing_ok=True)

    def check(self) -> None:
        """Writes a probe as an upload is written, and removes it."""
        self.check_there()
        temp = TempFile(self.incoming / f"probe.{secrets.token_hex(8)}", self.min_free_bytes)
        try:
            temp.write(b"probe")
            with translate_storage_errors():
                os.fsync(temp.descriptor)
        finally:
            temp.remove()

    def sweep(self, older_than_s: float = 86_400.0) -> int:
        """Removes uploads that ended before their commit."""
        return sweep_folder(self.incoming, older_than_s)


class _FileSection(Section):
    """A part of a file; it stays readable when the file is removed meanwhile."""

    def __init__(self, path: Path, offset: int, size: int) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        super().__init__(self.part, offset, size)

    def part(self, offset: int, size: int) -> bytes:
        """Bytes of the file. Raises :class:`Unavailable` where the disk fails."""
        with translate_storage_errors():
            return os.pread(self.descriptor, size, offset)

    def close(self) -> None:
        """Gives the descriptor back."""
        if not self.closed:
            os.close(self.descriptor)
        super().close()


def _sync_folder(folder: Path) -> None:
    """Makes the names in ``folder`` survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
