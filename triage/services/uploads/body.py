"""The bytes behind ``Content-Encoding``, and behind one layer of what packed them.

Every reader here has ``read(size)``: up to so many bytes, none at the end. What is
cut, damaged or grows beyond its bounds is an :class:`ArtifactError`: within a bundle
it refuses one file; around the body as a whole it becomes a refusal of the request.

The streams between a body and a pack: hashed, read forward as a tar, turned into UTF-8.

What an uploaded file is, by its first bytes; what was declared counts where they do not tell.
"""

import codecs
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from triage.domain.body import Body
from triage.domain.file_kind import FileKind
from triage.errors import (
    ArtifactError,
    Forbidden,
    Place,
    TooLarge,
    Unprocessable,
    Unsupported,
)
from triage.parsers.files.compression import Expansion, Truncated, unpack_body
from triage.parsers.files.text import detect_encoding, explain_no_text

_IDENTITY: Final = ("", "identity")
_CODINGS: Final = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}


class _Request:
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


def open_body(read: Callable[[int], bytes], encoding: str | None, bounds: Expansion) -> Body:
    """The body behind its ``Content-Encoding``.

    Raises :class:`Unsupported` for another than gzip and zstd, and for several.
    """
    name = (encoding or "").strip().lower()
    request = _Request(read)
    if name in _IDENTITY:
        return request
    if name not in _CODINGS:
        raise Unsupported(
            f"Content-Encoding {name[:100]!r} is not read",
            hint="pack the body with gzip or zstd, once, or leave the header out",
            places=(Place("header/Content-Encoding", "is not read"),),
        )
    layer = unpack_body(request, _CODINGS[name], bounds)
    return DecodedReader(layer, "body")


_PIECE: Final = 1 << 18


def read_first_bytes(body: Body, size: int) -> bytes:
    """The first ``size`` bytes; fewer where there are no more."""
    head = b""
    while len(head) < size and (part := body.read(size - len(head))):
        head += part
    return head


class HashingReader:
    """One file as it came: hashed and counted, and bounded in its length."""

    def __init__(self, body: Body, max_bytes: int) -> None:
        self.body = body
        self.max_bytes = max_bytes
        self.hash = hashlib.sha256()
        self.total = 0

    def read(self, size: int) -> bytes:
        """Raises :class:`Forbidden` beyond ``max_bytes``."""
        part = self.body.read(size)
        self.hash.update(part)
        self.total += len(part)
        if self.total > self.max_bytes:
            raise Forbidden(f"more than {self.max_bytes:,} bytes")
        return part

    def drain(self) -> None:
        """Hashes what nobody wants to read."""
        while part := self.body.read(_PIECE):
            self.hash.update(part)
            self.total += len(part)


class TruncationTolerantReader:
    """A packed file of which the part before a cut is kept: the last words of a node."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.cut: Truncated | None = None

    def read(self, size: int) -> bytes:
        """As the body; a cut behind the first byte is its end."""
        if self.cut is not None:
            return b""
        try:
            return self.body.read(size)
        except Truncated as error:
            if not error.offset:
                raise
            self.cut = error
            return b""


class _Utf16:
    """UTF-16 text read as UTF-8, so that what looks for bytes finds them."""

    def __init__(self, body: Body, encoding: str) -> None:
        self.body = body
        self.decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int) -> bytes:
        """Up to about ``size`` bytes."""
        while part := self.body.read(size):
            if text := self.decoder.decode(part):
                return text.encode()
        return self.decoder.decode(b"", final=True).encode()


def convert_to_utf8(body: Body, head: bytes) -> Body:
    """``body``, which begins with ``head``, decoded where that is UTF-16."""
    encoding = detect_encoding(head)
    return body if encoding is None else _Utf16(body, encoding)


class ForwardOnlyReader:
    """A body as the file that tarfile reads: it seeks forward alone, by reading on."""

    def __init__(self, body: Body, max_bytes: int) -> None:
        self.body = body
        self.max_bytes = max_bytes
        self.buffer = b""
        self.used = 0
        self.place = 0

    def tell(self) -> int:
        """Bytes handed out."""
        return self.place

    def read(self, size: int) -> bytes:
        """``size`` bytes; fewer only at the end. Raises :class:`TooLarge`."""
        end = self.used + size
        if end <= len(self.buffer):
            part = self.buffer[self.used : end]
            self.used = end
        else:
            part = self.more(size)
        self.place += len(part)
        if self.place > self.max_bytes:
            raise TooLarge(
                f"the bundle has more than {self.max_bytes:,} bytes",
                hint="send its files in several bundles",
            )
        return part

    def more(self, size: int) -> bytes:
        """Those that are read already, and what the body gives."""
        parts = [self.buffer[self.used :]]
        left = size - len(parts[0])
        self.buffer, self.used = b"", 0
        while left:
            part = self.body.read(_PIECE)
            if not part:
                break
            if len(part) > left:
                self.buffer, self.used = part, left
                part = part[:left]
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def seek(self, place: int) -> int:
        """Reads on to ``place``, or to the end. Raises :class:`Forbidden` for one behind."""
        if place < self.place:
            raise Forbidden("an archive that must be read backwards")
        while self.place < place and self.read(min(place - self.place, _PIECE)):
            pass
        return self.place


# Looked at to tell a kernel's log from a job's: its first twelve lines.
LOOK_BYTES: Final = 16 << 10
_WORDS: Final[dict[str, str]] = {
    FileKind.FLIGHT_RECORDER: "a dump",
    FileKind.KERNEL_LOG: "a kernel log",
    FileKind.JOB_LOG: "a job log",
    FileKind.TELEMETRY: "telemetry",
}


@dataclass(frozen=True, slots=True)
class IdentifiedFile:
    """What a file is kept as.

    ``binary`` is whether it is stored as it came, and no secret is looked for in it. ``note``
    says where its content is not what was declared.
    """

    kind: str
    binary: bool = False
    note: str = ""


def identify_file(head: bytes, name: str, declared: str | None) -> IdentifiedFile:
    """What the file is that begins with the plain bytes ``head``.

    An empty file, and binary data that no format claims, are what they were declared to
    be; the reader will say that it cannot read them.
    """
    # The table of formats takes long to load: with the first file, and not at the start.
    from triage.formats.format import Head
    from triage.formats.registry import get_stored_kind, identify

    encoding = detect_encoding(head)
    text = head.decode(encoding, "replace").encode() if encoding else head
    decoded = Head(text, name)
    raw = Head(head, name)
    # To tell whether bytes are text takes longer than to know a dump.
    row = identify(raw, None)
    if row is None and text and explain_no_text(text) is None:
        row = identify(raw, decoded)
    if row is None:
        return IdentifiedFile(declared or FileKind.JOB_LOG)
    kind = get_stored_kind(row, decoded)
    is_dump = kind is FileKind.FLIGHT_RECORDER
    if declared is None or declared == kind:
        return IdentifiedFile(kind, is_dump)
    words = _WORDS.get(declared, declared)
    return IdentifiedFile(kind, is_dump, f"declared as {words}; its content is {_WORDS[kind]}")
