"""Compressed streams: gzip, zstd, xz and bzip2, known by their first bytes.

They are read as streams with a running limit on size, ratio and memory, never by a length
that a file declares. What came before a cut is given; then :class:`Truncated` says where.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, cast

import zstandard

from triage.domain.body import Body
from triage.domain.patterns import compile_re
from triage.errors import Corrupt, Forbidden
from triage.parsers.files.zstd_frames import FrameEnds

PACKERS: Final = "gzip, zstd, xz or bzip2"
MAGIC: Final = {
    "gzip": compile_re(rb"\x1f\x8b"),
    "zstd": compile_re(rb"\x28\xb5\x2f\xfd"),
    "xz": compile_re(rb"\xfd7zXZ\0"),
    # Three letters may begin a text as well: behind the level stand the digits of pi, or of
    # its square root where nothing is packed.
    "bzip2": compile_re(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)"),
}
# Enough to know each of them by.
MAGIC_BYTES: Final = 10
_PIECE: Final = 1 << 18
# bgzip starts a stream every 64 KiB; each costs what many bytes cost.
MAX_STREAMS: Final = 1 << 17
# Of the decoder of xz, beside its dictionary.
_XZ_OVERHEAD: Final = 2 << 20


class Truncated(Corrupt):
    """A compressed stream ends before its end; what came before it is good."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """Bounds on decompressing one file; sizes in bytes.

    ``window_bytes`` of what was unpacked may a decoder keep: a header can ask for gigabytes.
    """

    max_bytes: int
    ratio: int = 200
    ratio_floor_bytes: int = 8 << 20
    window_bytes: int = 1 << 27

    def check(self, came_out: int, went_in: int) -> None:
        """Raises :class:`Forbidden` beyond the bounds."""
        if came_out > self.max_bytes:
            raise Forbidden(f"more than {self.max_bytes:,} bytes after decompression")
        if came_out > self.ratio_floor_bytes and came_out > self.ratio * max(went_in, 1):
            raise Forbidden(f"expands more than {self.ratio}-fold")


# For readers that have a bound of their own on what comes out.
UNBOUNDED: Final = Expansion(sys.maxsize, ratio_floor_bytes=sys.maxsize)


def detect_compression(head: bytes) -> str | None:
    """``gzip``, ``zstd``, ``xz`` or ``bzip2`` by the first bytes, else None."""
    return next((name for name, magic in MAGIC.items() if magic.match(head)), None)


def unpack_body(body: Body, compression: str | None, bounds: Expansion) -> Body:
    """``body`` behind ``compression``, as :func:`detect_compression` names it.

    Reading it raises :class:`Truncated` where it is cut, else :class:`Corrupt` for damage and
    :class:`Forbidden` beyond the bounds.
    """
    if compression is None:
        return body
    if compression == "zstd":
        return _Unzstd(body, bounds)
    return _Streams(body, compression, bounds)


class _Decompressor(Protocol):
    """One compressed stream, as ``lzma`` and ``bz2`` read it."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether more can come out only when more goes in."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What follows the stream's end."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Up to ``max_length`` bytes; the rest of ``data`` is kept for the next call."""
        ...


class _Inflate:
    """zlib's decompressor of gzip, with the manners of the others."""

    def __init__(self) -> None:
        self.inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self.inner.eof

    @property
    def needs_input(self) -> bool:
        return not self.inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self.inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self.inner.decompress(self.inner.unconsumed_tail + data, max_length)


def _make_decompressor(
    compression: str, bounds: Expansion
) -> tuple[Callable[[], _Decompressor], type[Exception]]:
    """What begins a stream, and what it raises for damage.

    Raises :class:`Forbidden` where this Python was built without the library.
    """
    if compression == "gzip":
        return _Inflate, zlib.error
    try:
        if compression == "bzip2":
            from bz2 import BZ2Decompressor

            return BZ2Decompressor, OSError  # its blocks have 900 kB at most
        import lzma
    except ImportError as error:
        raise Forbidden(f"{compression} is not read: this Python has no {error.name}") from error
    memory = bounds.window_bytes + _XZ_OVERHEAD
    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory), lzma.LZMAError


class _Streams:
    """Streams of one compression behind one another, zeros behind them allowed."""

    def __init__(self, body: Body, compression: str, bounds: Expansion) -> None:
        self.body = body
        self.name = compression
        self.bounds = bounds
        self.begin, self.damage = _make_decompressor(compression, bounds)
        self.part = self.begin()
        self.parts = 1
        self.left = b""
        self.went_in = 0
        self.came_out = 0

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        while True:
            if self.part.eof and not self.next_part():
                return b""
            packed, ended = b"", False
            if self.part.needs_input:
                packed, self.left = self.left or self.some(), b""
                ended = not packed
            plain = self.decompressed(packed, size)
            if self.part.eof:
                self.left = self.part.unused_data
            elif ended and not plain:
                raise Truncated(f"{self.name} breaks off", offset=self.came_out)
            if plain:
                self.came_out += len(plain)
                self.bounds.check(self.came_out, self.went_in)
                return plain

    def decompressed(self, packed: bytes, size: int) -> bytes:
        try:
            return self.part.decompress(packed, size)
        except self.damage as error:
            if str(error).startswith("Memory usage limit"):
                memory = self.bounds.window_bytes >> 20
                raise Forbidden(f"{self.name} needs more than {memory} MiB to unpack") from error
            what = f"{self.name} is damaged: {error}"
            raise Corrupt(what, offset=self.came_out) from error

    def some(self) -> bytes:
        packed = self.body.read(_PIECE)
        self.went_in += len(packed)
        return packed

    def next_part(self) -> bool:
        """Whether another stream begins behind the one that ended."""
        while not (rest := self.left.lstrip(b"\0")):
            self.left = self.some()
            if not self.left:
                return False
        while len(rest) < MAGIC_BYTES and (more := self.some()):
            rest += more
        self.left = rest
        if not MAGIC[self.name].match(rest):
            what = f"other bytes follow the {self.name} stream"
            raise Truncated(what, offset=self.came_out)
        self.parts += 1
        if self.parts > MAX_STREAMS:
            raise Forbidden(f"more than {MAX_STREAMS:,} {self.name} streams in one")
        self.part = self.begin()
        return True


class _Unzstd:
    """A zstd stream of any number of frames; the library itself takes a cut one as whole."""

    def __init__(self, body: Body, bounds: Expansion) -> None:
        self.body = body
        self.bounds = bounds
        self.ends = FrameEnds()
        self.went_in = 0
        self.came_out = 0
        decompressor = zstandard.ZstdDecompressor(max_window_size=bounds.window_bytes)
        packed = cast("zstandard._Source", _Packed(self))  # type: ignore[name-defined]
        self.plain = decompressor.stream_reader(packed, read_across_frames=True)

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        try:
            plain = self.plain.read(size)
        except zstandard.ZstdError as error:
            raise Corrupt(f"zstd is damaged: {error}", offset=self.came_out) from error
        if not plain and not self.ends.whole:
            raise Truncated("zstd breaks off", offset=self.came_out)
        self.came_out += len(plain)
        self.bounds.check(self.came_out, self.went_in)
        return plain


class _Packed:
    """What the decompressor reads from: every byte passes by the watch on frame ends."""

    def __init__(self, owner: _Unzstd) -> None:
        self.owner = owner

    def read(self, size: int) -> bytes:
        part = self.owner.body.read(min(size, _PIECE))
        self.owner.went_in += len(part)
        self.owner.ends.feed(part)
        return part
