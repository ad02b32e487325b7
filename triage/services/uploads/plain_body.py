"""The body of a request as plain bytes: behind its Content-Encoding and one layer of packing.

For bodies that are read at once and not kept. What is wrong with them refuses the request.
"""

from collections.abc import Callable
from typing import Final

from triage.domain.body import Body
from triage.errors import Place, Unprocessable
from triage.parsers.files.archive import HEAD_BYTES, is_tar
from triage.parsers.files.compression import detect_compression, unpack_body
from triage.parsers.files.text import detect_packing
from triage.services.uploads.body import DecodedReader, PeekedReader, open_body
from triage.services.uploads.streams import convert_to_utf8, read_first_bytes
from triage.services.uploads.take import ReceiveLimits

# What is looked at to tell what a body is.
LOOK_BYTES: Final = 64 << 10


def peek_body(
    read: Callable[[int], bytes], encoding: str | None, max_bytes: int
) -> tuple[bytes, Body]:
    """The first plain bytes of a body, and the body from its beginning; UTF-16 becomes UTF-8.

    Raises :class:`Unprocessable` for archives and for what is packed twice, or otherwise than
    with gzip, zstd, xz and bzip2, and as ``read`` of the body does.
    """
    limits = ReceiveLimits()
    bounds = limits.expansion(max_bytes)
    sent = open_body(read, encoding, bounds)
    packed = read_first_bytes(sent, HEAD_BYTES)
    layer = unpack_body(PeekedReader(packed, sent), detect_compression(packed), bounds)
    plain = DecodedReader(layer, "body")
    head = read_first_bytes(plain, LOOK_BYTES)
    packing = detect_packing(head)
    if is_tar(head[:512]):
        raise _make_refusal("is a tar archive", "send its files one by one")
    if packing is not None:
        raise _make_refusal(f"is {packing[0]}", packing[1])
    text = convert_to_utf8(PeekedReader(head, plain), head)
    shown = read_first_bytes(text, LOOK_BYTES)
    return shown, PeekedReader(shown, text)


class _Bounded:
    """A body that may not have more than so many bytes."""

    def __init__(self, body: Body, max_bytes: int) -> None:
        self.body = body
        self.max_bytes = max_bytes
        self.total = 0

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes. Raises :class:`Unprocessable` beyond the bound."""
        part = self.body.read(size)
        self.total += len(part)
        if self.total > self.max_bytes:
            raise _make_refusal(f"has more than {self.max_bytes:,} bytes", "send less at once")
        return part


def read_plain_text(read: Callable[[int], bytes], encoding: str | None, max_bytes: int) -> Body:
    """The plain bytes of a body. It raises as :func:`peek_body`, and beyond ``max_bytes``."""
    return _Bounded(peek_body(read, encoding, max_bytes)[1], max_bytes)


def _make_refusal(why: str, hint: str) -> Unprocessable:
    return Unprocessable(f"the body {why}", hint=hint, places=(Place("body", why),))
