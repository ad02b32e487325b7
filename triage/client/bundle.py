"""Bundle: files on this machine as one tar, streamed and compressed as it is read.

Nothing is held but a piece of one file, however large a folder is.
"""

import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import zstandard

from triage.errors import UsageError
from triage.parsers.files.archive import PEEK_BYTES, is_tar, peek
from triage.parsers.files.compression import detect_compression

_PIECE: Final = 1 << 20
_BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class Bundle:
    """``files`` are (name in the tar, path); of a ready tar ``tar`` alone is set."""

    files: tuple[tuple[str, Path], ...] = ()
    tar: Path | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Type and encoding of the body."""
        if self.tar is not None:
            return {"Content-Type": "application/x-tar"}
        return {"Content-Type": "application/x-tar", "Content-Encoding": "zstd"}

    def pieces(self) -> Iterator[bytes]:
        """The body, from its first byte on."""
        if self.tar is not None:
            with _open_for_reading(self.tar) as file:
                yield from iter(lambda: file.read(_PIECE), b"")
            return
        packer = zstandard.ZstdCompressor(level=3).compressobj()
        for piece in iterate_tar_pieces(self.files):
            packed = packer.compress(piece)
            if packed:
                yield packed
        yield packer.flush()


def gather_bundle(path: str | Path) -> Bundle:
    """The bundle of a folder, a file or a tar. Raises :class:`UsageError`."""
    start = Path(path)
    try:
        if start.is_dir():
            files = tuple(_iterate_files_below(start))
            if not files:
                raise UsageError(f"{start} holds no file; give the folder of one incident")
            return Bundle(files)
        with _open_for_reading(start) as file:
            # A tar, plain or below one layer of packing.
            head = file.read(PEEK_BYTES)
            compression = detect_compression(head)
            ready = is_tar(peek(head, compression) if compression else head)
    except OSError as error:
        raise UsageError(f"cannot read {start}: {error.strerror or error}") from error
    return Bundle(tar=start) if ready else Bundle(((start.name, start),))


def _iterate_files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files with their names from the folder on, in order; no link is followed."""
    for root, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path


def _raise(error: OSError) -> None:
    raise error


def iterate_tar_pieces(files: tuple[tuple[str, Path], ...]) -> Iterator[bytes]:
    """A tar of ``files``: the header of each, its bytes, zeros up to a whole block."""
    for name, path in files:
        with _open_for_reading(path) as file:
            size = os.fstat(file.fileno()).st_size
            header = tarfile.TarInfo(name)
            header.size, header.mode = size, 0o600
            yield header.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
            yield from _read_exact_bytes(file, size, path)
            yield bytes(-size % _BLOCK)
    yield bytes(2 * _BLOCK)


def _open_for_reading(path: Path) -> io.BufferedReader:
    """The file, open for reading. Raises :class:`UsageError`."""
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


def _read_exact_bytes(file: io.BufferedReader, size: int, path: Path) -> Iterator[bytes]:
    """The first ``size`` bytes; what a file grows by meanwhile is not read."""
    left = size
    while left > 0:
        piece = file.read(min(_PIECE, left))
        if not piece:
            raise UsageError(f"{path} became shorter while it was sent; send it again")
        left -= len(piece)
        yield piece
