"""The bytes behind ``Content-Encoding``, and behind one layer of gzip or zstd.

Every reader here has ``read(size)``: up to so many bytes, none at the end. What is
cut, damaged or grows beyond its bounds is an :class:`ArtifactError`: within a bundle
it refuses one file; around the body as a whole it becomes a refusal of the request.
"""

import zlib
from collections.abc import Callable
from typing import Final, cast

import zstandard

from triage.domain.body import Body
from triage.errors import (
    ArtifactError,
    Corrupt,
    Forbidden,
    Place,
    TooLarge,
    Unprocessable,
    Unsupported,
)
from triage.parsers.files.archive import GZIP
from triage.services.uploads.zstd_frames import FrameEnds

__all__ = ["DecodedReader", "Growth", "PeekedReader", "Truncated", "body_of", "unpacked"]

PIECE: Final = 1 << 18
# RFC 9659: a content coding needs no more, and a header can ask for gigabytes.
ZSTD_WINDOW: Final = 8 << 20
# bgzip starts one every 64 KiB; each costs what many bytes cost.
MAX_GZIP_PARTS: Final = 1 << 17
IDENTITY: Final = ("", "identity")
CODINGS: Final = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}


class Truncated(Corrupt):
    """A compressed stream ends before its end; what came before it is good."""


class Request:
    """The body as it came, counted."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read_some = read
        self.total = 0

    def read(self, size: int) -> bytes:
        part = self.read_some(size)
        self.total += len(part)
        return part


class PeekedReader:
    """A body of which the first bytes were looked at already."""

    def __init__(self, head: bytes, body: Body) -> None:
        self.head = head
        self.body = body

    def read(self, size: int) -> bytes:
        """As the body: first what was looked at."""
        if not self.head:
            return self.body.read(size)
        part, self.head = self.head[:size], self.head[size:]
        return part


class Growth:
    """A bound on what comes out of a packed body, in bytes and against what went in."""

    def __init__(self, max_bytes: int, ratio: int, floor_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.ratio = ratio
        self.floor_bytes = floor_bytes

    def check(self, came_out: int, went_in: int) -> None:
        """Raises :class:`Forbidden` beyond the bounds."""
        if came_out > self.max_bytes:
            raise Forbidden(f"more than {self.max_bytes:,} bytes after decompression")
        if came_out > self.floor_bytes and came_out > self.ratio * max(went_in, 1):
            raise Forbidden(f"expands more than {self.ratio}-fold")


class Gunzip:
    """A gzip stream of any number of parts, zeros behind it allowed."""

    def __init__(self, body: Body, growth: Growth) -> None:
        self.body = body
        self.growth = growth
        self.part = zlib.decompressobj(wbits=31)
        self.parts = 1
        self.left = b""
        self.went_in = 0
        self.came_out = 0

    def read(self, size: int) -> bytes:
        """Raises :class:`Corrupt`, :class:`Truncated` where it is cut, :class:`Forbidden`."""
        while True:
            if self.part.eof and not self.next_part():
                return b""
            ended = not self.left
            if ended:
                self.left = self.some()
            try:
                plain = self.part.decompress(self.left, size)
            except zlib.error as error:
                raise Corrupt(f"gzip is damaged: {error}", offset=self.came_out) from error
            if ended and not self.left and not plain and not self.part.eof:
                raise Truncated("gzip breaks off", offset=self.came_out)
            self.left = self.part.unused_data if self.part.eof else self.part.unconsumed_tail
            if plain:
                self.came_out += len(plain)
                self.growth.check(self.came_out, self.went_in)
                return plain

    def some(self) -> bytes:
        packed = self.body.read(PIECE)
        self.went_in += len(packed)
        return packed

    def next_part(self) -> bool:
        """Whether another part begins behind the one that ended."""
        while not (rest := self.left.lstrip(b"\0")):
            self.left = self.some()
            if not self.left:
                return False
        self.left = rest
        if len(rest) < 2:
            self.left += self.some()
        if not GZIP.startswith(self.left[:2]):
            raise Truncated("other bytes follow the gzip stream", offset=self.came_out)
        self.parts += 1
        if self.parts > MAX_GZIP_PARTS:
            raise Forbidden(f"more than {MAX_GZIP_PARTS:,} gzip streams in one")
        self.part = zlib.decompressobj(wbits=31)
        return True


class Unzstd:
    """A zstd stream of any number of frames; the library itself takes a cut one as whole."""

    def __init__(self, body: Body, growth: Growth) -> None:
        self.body = body
        self.growth = growth
        self.ends = FrameEnds()
        self.went_in = 0
        self.came_out = 0
        decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
        packed = cast("zstandard._Source", Packed(self))  # type: ignore[name-defined]
        self.plain = decompressor.stream_reader(packed, read_across_frames=True)

    def read(self, size: int) -> bytes:
        """Raises :class:`Corrupt`, :class:`Truncated` where it is cut, :class:`Forbidden`."""
        try:
            plain = self.plain.read(size)
        except zstandard.ZstdError as error:
            raise Corrupt(f"zstd is damaged: {error}", offset=self.came_out) from error
        if not plain and not self.ends.whole:
            raise Truncated("zstd breaks off", offset=self.came_out)
        self.came_out += len(plain)
        self.growth.check(self.came_out, self.went_in)
        return plain


class Packed:
    """What the decompressor reads from: every byte passes by the watch on frame ends."""

    def __init__(self, owner: Unzstd) -> None:
        self.owner = owner

    def read(self, size: int) -> bytes:
        part = self.owner.body.read(min(size, PIECE))
        self.owner.went_in += len(part)
        self.owner.ends.feed(part)
        return part


def unpacked(body: Body, compression: str | None, growth: Growth) -> Body:
    """``body`` behind ``compression``: ``gzip``, ``zstd`` or None."""
    if compression == "gzip":
        return Gunzip(body, growth)
    if compression == "zstd":
        return Unzstd(body, growth)
    return body


class DecodedReader:
    """A layer around the whole body: what is wrong with it refuses the request."""

    def __init__(self, layer: Body, what: str) -> None:
        self.layer = layer
        self.what = what

    def read(self, size: int) -> bytes:
        """Raises :class:`TooLarge` or :class:`Unprocessable`."""
        try:
            return self.layer.read(size)
        except Forbidden as error:
            raise TooLarge(
                f"the {self.what} {error}", hint="send fewer or smaller files in one request"
            ) from error
        except Truncated as error:
            raise Unprocessable(
                f"the {self.what} ends too early: {error}",
                hint="send it again; nothing of it was kept",
            ) from error
        except ArtifactError as error:
            raise Unprocessable(
                f"the {self.what} cannot be decoded: {error}",
                hint="check that Content-Encoding says what the body is packed with",
            ) from error


def body_of(read: Callable[[int], bytes], encoding: str | None, growth: Growth) -> Body:
    """The body behind its ``Content-Encoding``.

    Raises :class:`Unsupported` for another than gzip and zstd, and for several.
    """
    name = (encoding or "").strip().lower()
    request = Request(read)
    if name in IDENTITY:
        return request
    if name not in CODINGS:
        raise Unsupported(
            f"Content-Encoding {name[:100]!r} is not read",
            hint="pack the body with gzip or zstd, once, or leave the header out",
            places=(Place("header/Content-Encoding", "is not read"),),
        )
    layer = unpacked(request, CODINGS[name], growth)
    return DecodedReader(layer, "body")
