"""The body of a request as plain bytes: behind its Content-Encoding and one layer of packing.

For bodies that are read at once and not kept. What is wrong with them refuses the request.
"""

from collections.abc import Callable
from typing import Final

from triage.domain.body import Body
from triage.errors import Place, Unprocessable
from triage.parsers.files.archive import HEAD_BYTES, is_tar
from triage.parsers.files.compression import compression_of, unpacked
from triage.parsers.files.text import packing_of
from triage.services.uploads.body import DecodedReader, PeekedReader, body_of
from triage.services.uploads.streams import first_bytes, in_utf8
from triage.services.uploads.take import ReceiveLimits

# What is looked at to tell what a body is.
LOOK_BYTES: Final = 64 << 10


def looked_at(
    read: Callable[[int], bytes], encoding: str | None, max_bytes: int
) -> tuple[bytes, Body]:
    """The first plain bytes of a body, and the body from its beginning; UTF-16 becomes UTF-8.

    Raises :class:`Unprocessable` for archives and for what is packed twice, or otherwise than
    with gzip, zstd, xz and bzip2, and as ``read`` of the body does.
    """
    limits = ReceiveLimits()
    bounds = limits.expansion(max_bytes)
    sent = body_of(read, encoding, bounds)
    packed = first_bytes(sent, HEAD_BYTES)
    layer = unpacked(PeekedReader(packed, sent), compression_of(packed), bounds)
    plain = DecodedReader(layer, "body")
    head = first_bytes(plain, LOOK_BYTES)
    packing = packing_of(head)
    if is_tar(head[:512]):
        raise _refused("is a tar archive", "send its files one by one")
    if packing is not None:
        raise _refused(f"is {packing[0]}", packing[1])
    text = in_utf8(PeekedReader(head, plain), head)
    shown = first_bytes(text, LOOK_BYTES)
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
            raise _refused(f"has more than {self.max_bytes:,} bytes", "send less at once")
        return part


def plain_text(read: Callable[[int], bytes], encoding: str | None, max_bytes: int) -> Body:
    """The plain bytes of a body. It raises as :func:`looked_at`, and beyond ``max_bytes``."""
    return _Bounded(looked_at(read, encoding, max_bytes)[1], max_bytes)


def _refused(why: str, hint: str) -> Unprocessable:
    return Unprocessable(f"the body {why}", hint=hint, places=(Place("body", why),))
