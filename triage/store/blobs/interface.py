"""The blob store: packs of uploaded bytes, in a folder or in an object store.

A blob is written once, under a key of ours, and is there as a whole or not at all:
``commit`` returns when it survives the loss of power. Names from outside are never
part of a key.
"""

import io
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from triage.domain.patterns import compile_re

# How errors and warnings call it.
BLOB_STORE: Final = "the blob store"
_KEY: Final = compile_re(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
# Of one request to an object store: some packs fit into one.
_PIECE: Final = 4 << 20


class BlobWriter(Protocol):
    """One blob that is being written; nobody sees it before ``commit``."""

    def write(self, data: bytes) -> None:
        """Raises :class:`StorageFull` and :class:`Unavailable`."""
        ...

    def tell(self) -> int:
        """Bytes written so far."""
        ...

    def rewind(self, position: int) -> None:
        """Forgets what was written behind ``position``."""
        ...

    def commit(self) -> None:
        """Makes the blob durable and visible. Raises as ``write`` does, and then nothing stays."""
        ...

    def abort(self) -> None:
        """Leaves nothing; also after a ``commit`` or another ``abort``, which stay as they are."""
        ...


class Blobs(Protocol):
    """Where blobs lie. Safe to be used by several threads; a writer is one thread's."""

    def begin(self, key: str) -> BlobWriter:
        """A new blob. Raises :class:`StorageFull` when little room is left."""
        ...

    def read(self, key: str, offset: int, size: int) -> bytes:
        """``size`` bytes; fewer where the blob ends. Raises :class:`NotFound`."""
        ...

    def open(self, key: str, offset: int, size: int) -> io.BufferedIOBase:
        """The same as a file that is read piece by piece."""
        ...

    def delete(self, key: str) -> None:
        """Removes a blob; one that is not there is removed already."""
        ...

    def keys(self) -> Iterator[str]:
        """All blobs that are there, in no order."""
        ...

    def marks(self) -> set[str]:
        """The marks that databases have left here, each under a key of its own."""
        ...

    def mark(self, mark: str) -> None:
        """Leaves a mark beside the blobs; durable when this returns. Again changes nothing."""
        ...

    def unmark(self, mark: str) -> None:
        """Takes a mark away; one that is not there is away already."""
        ...

    def check(self) -> None:
        """Writes a probe and removes it. Raises :class:`Unavailable` or :class:`StorageFull`."""
        ...

    def sweep(self, older_than_s: float = 86_400.0) -> int:
        """Removes what unfinished uploads left behind; how many files."""
        ...


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
