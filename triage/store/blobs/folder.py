"""Blobs in a folder: written beside, made durable, then renamed into their place."""

import hashlib
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from triage.errors import NotFound, Unavailable
from triage.store.blobs.files import (
    FOLDER_MODE,
    BlobWriter,
    Section,
    check_key,
    sweep_folder,
    translate_storage_errors,
)


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

    def begin(self, key: str) -> BlobWriter:
        """A new blob, written into ``incoming`` first. Raises :class:`StorageFull`."""
        place = self.place(key)
        self.check_there()
        path = self.incoming / f"{key}.{secrets.token_hex(8)}"
        return BlobWriter(path, self.min_free_bytes, lambda blob: self.put(blob, place))

    def put(self, blob: BlobWriter, place: Path) -> None:
        """Data first, then the name, then the folder that holds the name."""
        with translate_storage_errors():
            os.fsync(blob.descriptor)
            blob.close()
            self.make_folder(place.parent)
            os.rename(blob.path, place)
            try:
                _sync_folder(place.parent)
            except OSError:
                place.unlink(missing_ok=True)
                raise

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
        with translate_storage_errors():
            try:
                section = _FileSection(self.place(key), offset, size)
            except FileNotFoundError as error:
                raise NotFound(f"no blob {key}") from error
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

    def check(self) -> None:
        """Writes a probe as an upload is written, and removes it."""
        probe = self.begin("probe")
        try:
            probe.write(b"probe")
            with translate_storage_errors():
                os.fsync(probe.descriptor)
        finally:
            probe.abort()

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
