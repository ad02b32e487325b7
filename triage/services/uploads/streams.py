"""The streams between a body and a pack: hashed, read forward as a tar, turned into UTF-8."""

import codecs
import hashlib
from typing import Final

from triage.domain.body import Body
from triage.errors import Forbidden, TooLarge
from triage.parsers.files.compression import Truncated
from triage.parsers.files.text import detect_encoding

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
