"""A pack: the files of one upload in one blob, each as one zstd frame of its plain bytes."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, Protocol, cast

import zstandard

from triage.errors import Corrupt
from triage.store.blobs.files import BlobWriter
from triage.store.blobs.interface import Blobs

_LEVEL: Final = 1
# A shorter file is packed in one call, which writes its size before it.
ONE_CALL_BYTES: Final = 1 << 20
_PIECE: Final = 1 << 18


class Frame(Protocol):
    """Where one file lies in a pack, in bytes."""

    @property
    def position(self) -> int:
        """Of its frame's first byte."""
        ...

    @property
    def stored_bytes(self) -> int:
        """Length of its frame."""
        ...


class Packer:
    """Compression contexts, to be used for one frame after the other."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)


class FrameWriter:
    """Writes one file behind the others; ``size`` where its plain length is known.

    The frame holds the length when it is known by then, or when the file is short.
    """

    def __init__(self, packer: Packer, blob: BlobWriter, size: int | None) -> None:
        self.packer = packer
        self.blob = blob
        self.size = -1 if size is None else size
        self.position = blob.tell()
        self.waiting: list[bytes] = []
        self.waiting_bytes = 0
        self.stream: zstandard.ZstdCompressionObj | None = None
        self.plain_bytes = 0

    def write(self, plain: bytes) -> None:
        """The next bytes of the file."""
        self.plain_bytes += len(plain)
        if self.stream is None:
            self.waiting.append(plain)
            self.waiting_bytes += len(plain)
            if self.waiting_bytes <= ONE_CALL_BYTES:
                return
            self.stream = self.packer.compressor.compressobj(size=self.size)
            plain = b"".join(self.waiting)
            self.waiting.clear()
        packed = self.stream.compress(plain)
        if packed:
            self.blob.write(packed)

    def finish(self) -> int:
        """Ends the frame; its length in bytes."""
        if self.stream is None:
            whole = self.waiting[0] if len(self.waiting) == 1 else b"".join(self.waiting)
            self.blob.write(self.packer.compressor.compress(whole))
        else:
            self.blob.write(self.stream.flush())
        return self.blob.tell() - self.position


def write_plain(
    blobs: Blobs, key: str, files: Sequence[Frame], folder: Path, prefix: str = ""
) -> list[Path]:
    """Each of the stored files as a plain one in ``folder``, named by number behind ``prefix``,
    in this order.

    Raises :class:`Corrupt` for a frame that is damaged, and what the store raises. What
    was written until then stays in the folder, which is the caller's.
    """
    if not files:
        return []
    paths = [folder / f"{prefix}{number:06}" for number in range(len(files))]
    first = min(file.position for file in files)
    end = max(file.position + file.stored_bytes for file in files)
    decompressor = zstandard.ZstdDecompressor()
    with blobs.open(key, first, end - first) as pack:
        place = first
        for number in sorted(range(len(files)), key=lambda number: files[number].position):
            file = files[number]
            if file.position < place:
                raise Corrupt("two files of one pack overlap", offset=file.position)
            _skip(pack, file.position - place)
            _write_frame(decompressor, Span(pack, file.stored_bytes), paths[number], file.position)
            place = file.position + file.stored_bytes
    return paths


def copy_frames(blobs: Blobs, key: str, files: Sequence[Frame], into: BlobWriter) -> list[int]:
    """The frames of these files alone in another pack, as they are; where each begins there."""
    positions = []
    for file in files:
        positions.append(into.tell())
        left = file.stored_bytes
        with blobs.open(key, file.position, left) as pack:
            while left > 0 and (part := pack.read(min(left, _PIECE))):
                into.write(part)
                left -= len(part)
        if left:
            raise Corrupt("a stored file is shorter than when it was written", offset=file.position)
    return positions


def _write_frame(
    decompressor: zstandard.ZstdDecompressor, span: "Span", path: Path, offset: int
) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb", buffering=0) as target:
        try:
            if span.left <= ONE_CALL_BYTES:
                _write_short(decompressor, span.read(), target)
            else:
                _write_long(decompressor, span, target)
        except zstandard.ZstdError as error:
            raise Corrupt(f"a stored file is damaged: {error}", offset=offset) from error
    if span.left:
        raise Corrupt("a stored file is shorter than when it was written", offset=offset)


def _write_short(
    decompressor: zstandard.ZstdDecompressor, frame: bytes, target: io.RawIOBase
) -> None:
    """In one call where the frame says that its content is short as well."""
    if 0 <= zstandard.frame_content_size(frame) <= ONE_CALL_BYTES:
        _write_all(target, decompressor.decompress(frame))
    else:
        _write_long(decompressor, io.BytesIO(frame), target)


def _write_long(
    decompressor: zstandard.ZstdDecompressor, packed: io.IOBase, target: io.RawIOBase
) -> None:
    with decompressor.stream_reader(cast("IO[bytes]", packed), closefd=False) as plain:
        while part := plain.read(_PIECE):
            _write_all(target, part)


def _write_all(target: io.RawIOBase, plain: bytes) -> None:
    view = memoryview(plain)
    while view:
        view = view[target.write(view) or 0 :]


def _skip(pack: io.BufferedIOBase, size: int) -> None:
    while size > 0 and (part := pack.read(min(size, _PIECE))):
        size -= len(part)


class Span(io.RawIOBase):
    """The next bytes of a pack, as a file of their own."""

    def __init__(self, pack: io.BufferedIOBase, size: int) -> None:
        self.pack = pack
        self.left = size

    def readable(self) -> bool:
        """True: :class:`io.RawIOBase` asks before it reads."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes."""
        part = self.pack.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(part)
        return part
