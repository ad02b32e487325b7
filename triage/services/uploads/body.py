"""The bytes behind ``Content-Encoding``, and behind one layer of what packed them.

Every reader here has ``read(size)``: up to so many bytes, none at the end. What is
cut, damaged or grows beyond its bounds is an :class:`ArtifactError`: within a bundle
it refuses one file; around the body as a whole it becomes a refusal of the request.
"""

from collections.abc import Callable
from typing import Final

from triage.domain.body import Body
from triage.errors import (
    ArtifactError,
    Forbidden,
    Place,
    TooLarge,
    Unprocessable,
    Unsupported,
)
from triage.parsers.files.compression import Expansion, Truncated, unpack_body

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
