"""``multipart/form-data`` read as it comes: each part once, in order, in pieces.

A form with files is sent so when no script does better. Nothing is kept of a part but a
window as long as its delimiter, so a part may be larger than memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from triage.domain.patterns import compile_re
from triage.errors import BadRequest, TooLarge

_PIECE: Final = 1 << 16
_MAX_HEAD_BYTES: Final = 16 << 10
_MAX_PARTS: Final = 20_000
_BOUNDARY: Final = compile_re(
    r"""boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))(?=[\s;,]|$)""", re.IGNORECASE
)
_DISPOSITION: Final = compile_re(rb"^content-disposition:\s*form-data\s*;(.*)$", re.I | re.M)
_NAME: Final = compile_re(rb'[;\s]name="([^"]*)"')
_FILENAME: Final = compile_re(rb'[;\s]filename="([^"]*)"')
_AGAIN: Final = "open the page again, and choose the files once more"
# How a browser escapes characters that a quoted name must not hold.
_ESCAPED: Final = {"%22": '"', "%0D": "\r", "%0A": "\n"}


class Readable(Protocol):
    """A body that is read in pieces."""

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        ...


@dataclass(slots=True)
class Part:
    """One field; ``filename`` is None where it is no file. Read it before the next part."""

    name: str
    filename: str | None
    stream: "Stream"
    ended: bool = False

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes of its content; none at its end. Raises :class:`BadRequest`."""
        if self.ended:
            return b""
        piece, self.ended = self.stream.content(size)
        return piece

    def text(self, max_bytes: int) -> str:
        """A short field as a whole. Raises :class:`TooLarge` for a longer one."""
        content = bytearray()
        while piece := self.read(_PIECE):
            content += piece
            if len(content) > max_bytes:
                raise TooLarge(f"the field {self.name!r} is too long", hint=_AGAIN)
        return content.decode("utf-8", "replace")


class Stream:
    """The body with a window; ``delimiter`` stands before each part and behind the last."""

    def __init__(self, body: Readable, boundary: str) -> None:
        self.body = body
        self.delimiter = b"\r\n--" + boundary.encode("ascii")
        # The first delimiter has no line end before it.
        self.window = bytearray(b"\r\n")
        self.over = False

    def more(self) -> bool:
        """Read a piece into the window; False at the end of the body."""
        piece = self.body.read(_PIECE)
        self.window += piece
        return bool(piece)

    def content(self, size: int) -> tuple[bytes, bool]:
        """Bytes before the next delimiter, and whether it follows."""
        while True:
            at = self.window.find(self.delimiter)
            safe = at if at >= 0 else len(self.window) - len(self.delimiter) + 1
            if safe > 0 or at == 0:
                take = min(size, safe)
                piece = bytes(self.window[:take])
                del self.window[:take]
                return piece, take == at
            if not self.more():
                raise BadRequest("the form breaks off inside a part", hint=_AGAIN)

    def next_part(self) -> bool:
        """Past the delimiter that stands first; False when it was the last."""
        end = len(self.delimiter)
        while len(self.window) < end + 2:
            if not self.more():
                raise BadRequest("the form breaks off behind a part", hint=_AGAIN)
        if self.window[end : end + 2] == b"--":
            return False
        del self.window[:end]
        return True

    def head(self) -> bytes:
        """The header lines of a part."""
        while (at := self.window.find(b"\r\n\r\n")) < 0:
            if len(self.window) > _MAX_HEAD_BYTES or not self.more():
                raise BadRequest("a part of the form has no end of its header", hint=_AGAIN)
        lines = bytes(self.window[:at])
        del self.window[: at + 4]
        return lines


def parse_boundary(content_type: str) -> str:
    """The boundary that a Content-Type names. Raises :class:`BadRequest`."""
    match = _BOUNDARY.search(content_type)
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "multipart/form-data" or match is None or not content_type.isascii():
        raise BadRequest("this is no form with files", hint="send it with the button on the page")
    return match[1] or match[2]


def iterate_parts(body: Readable, boundary: str) -> Iterator[Part]:
    """The parts in their order. The unread rest of a part is skipped before the next one.

    Raises :class:`BadRequest` for a body that is no form, and :class:`TooLarge` for too many parts.
    """
    stream = Stream(body, boundary)
    preamble = Part("", None, stream)
    while preamble.read(_PIECE):
        pass
    count = 0
    while stream.next_part():
        count += 1
        if count > _MAX_PARTS:
            raise TooLarge(f"more than {_MAX_PARTS:,} files", hint="send them as a tar")
        part = _make_part(stream.head(), stream)
        yield part
        while part.read(_PIECE):
            pass
    while stream.body.read(_PIECE):  # what follows the last delimiter says nothing
        pass


def _make_part(head: bytes, stream: Stream) -> Part:
    line = _DISPOSITION.search(head)
    rest = b";" + line[1] if line else b""
    name, filename = _NAME.search(rest), _FILENAME.search(rest)
    if name is None:
        raise BadRequest("a part of the form has no name", hint=_AGAIN)
    return Part(
        _unescape_name(name[1]), None if filename is None else _unescape_name(filename[1]), stream
    )


def _unescape_name(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    for escape, char in _ESCAPED.items():
        text = text.replace(escape, char)
    return text
