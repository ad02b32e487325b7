"""Bodies of requests: small ones read whole, uploads pulled piece by piece by their thread.

A body that is longer than its limit by its own account is refused before any of it is
read; one that ends before its account, or comes too slowly, leaves nothing behind.
"""

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Annotated, Final

import anyio
from anyio import from_thread
from fastapi import Depends
from starlette.requests import Request

from triage.api.access import get_actor
from triage.api.answers.problems import BodyTooSlow, ClientGone
from triage.api.limits.admission_gate import Sender, Turn
from triage.api.requests.strict_json import JsonObject, parse_object
from triage.api.state import get_state
from triage.domain.patterns import compile_re
from triage.errors import BadRequest, Place, TooLarge, Unsupported
from triage.settings import Settings

if TYPE_CHECKING:
    from hashlib import _Hash

# An upload that has not come so far takes no place from those that have.
_FIRST_BYTES: Final = 16 << 10
_ENOUGH: Final = 256 << 10
_DIGITS: Final = compile_re(r"[0-9]{1,18}", re.ASCII)
_DIGEST: Final = compile_re(r"\s*([a-z0-9-]+)=:([A-Za-z0-9+/=]{1,128}):\s*", re.ASCII)


def get_announced_length(request: Request, max_bytes: int, name: str) -> int | None:
    """What ``Content-Length`` says; None when the body comes in chunks.

    Raises :class:`TooLarge` beyond the limit, so that nothing of it is read.
    """
    lengths = request.headers.getlist("content-length")
    if not lengths:
        return None
    if len(lengths) > 1 or not _DIGITS.fullmatch(lengths[0]):
        raise BadRequest(
            "Content-Length is no number of bytes",
            hint="send the length of the body, once, or the body in chunks",
            places=(Place("header/Content-Length", "not a number of bytes"),),
        )
    length = int(lengths[0])
    if length > max_bytes:
        raise _make_too_large(name, max_bytes)
    return length


async def read_whole(request: Request, max_bytes: int, what: str = "a JSON body") -> bytes:
    """A small body. Raises :class:`TooLarge`, :class:`BodyTooSlow`, :class:`Unsupported`."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise Unsupported(
            f"{what} is read only as it is",
            hint="send it without Content-Encoding",
            places=(Place("header/Content-Encoding", "is not read here"),),
        )
    length = get_announced_length(request, max_bytes, what)
    pieces = Pieces(request)
    found = bytearray()
    while piece := await pieces.next():
        found += piece
        if len(found) > max_bytes:
            raise _make_too_large(what, max_bytes)
    _check_length(len(found), length)
    return bytes(found)


async def _read_json_body(request: Request) -> bytes:
    return await read_whole(request, get_state(request).context.settings.max_hook_bytes)


JsonBody = Annotated[bytes, Depends(_read_json_body)]
"""A small body, whole."""


async def _read_json_object(body: JsonBody) -> JsonObject:
    return parse_object(body)


JsonAsked = Annotated[JsonObject, Depends(_read_json_object)]
"""The object that it holds."""


class MinRateTimeout:
    """Seconds, ``left_s``, for which one sender is waited for from here on.

    Only the time counts in which its bytes are waited for. A sender may be silent for the grace at
    first; what it sends earns it more, up to the longest silence that is allowed at all. So a
    minimum rate holds, and a good sender may pause.
    """

    def __init__(self, settings: Settings) -> None:
        self.rate = settings.min_body_rate
        self.grace_s = min(settings.body_grace_s, settings.body_idle_s)
        self.idle_s = settings.body_idle_s
        self.left_s = self.grace_s if self.rate else self.idle_s

    def spend(self, waited_s: float, num_bytes: int) -> None:
        """So many bytes came after so long a wait."""
        if self.rate:
            earned_s = num_bytes / self.rate
            self.left_s = max(0.0, min(self.idle_s, self.left_s - waited_s + earned_s))

    def why_lost(self, waited_s: float) -> str:
        """What to say to a sender for which the last wait was too long."""
        if not self.rate or waited_s >= self.grace_s:
            return f"no byte of the body came for {waited_s:.0f} s"
        return f"the body comes with fewer than {self.rate:,} bytes a second"


class Pieces:
    """The messages of a body, one after the other."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.min_rate = MinRateTimeout(get_state(request).context.settings)
        self.more = True

    async def next(self) -> bytes:
        """The next bytes, never none before the end."""
        while self.more:
            began = anyio.current_time()
            try:
                with anyio.fail_after(self.min_rate.left_s):
                    message = await self.request.receive()
            except TimeoutError as error:
                raise BodyTooSlow(
                    self.min_rate.why_lost(anyio.current_time() - began),
                    hint="nothing was kept; send it again",
                ) from error
            if message["type"] == "http.disconnect":
                raise ClientGone("the client went away before its body ended")
            self.more = message.get("more_body", False)
            body: bytes = message.get("body", b"")
            self.min_rate.spend(anyio.current_time() - began, len(body))
            if body:
                return body
        return b""


class UploadBody:
    """``read`` for the thread that takes the upload in, once :meth:`begin` has returned.

    ``num_bytes`` is what has come, ``sender`` on whose behalf.
    """

    def __init__(self, request: Request, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.length = get_announced_length(request, max_bytes, "an upload")
        self.digests = _parse_digests(request)
        self.pieces = Pieces(request)
        self.ahead = memoryview(b"")
        self.num_bytes = 0
        self.turn: Turn
        job_id = request.path_params.get("job_id") or request.query_params.get("job_id", "")
        self.sender = Sender(get_actor(request), job_id)

    async def begin(self, turn: Turn) -> None:
        """Have the first bytes here, or all of a short body, before a thread waits for them.

        Raises as :meth:`read` does.
        """
        self.turn = turn
        self.ahead = memoryview(await self.gathered(_FIRST_BYTES))

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes of the body; none at its end. Called outside the event loop.

        Raises :class:`ClientGone`, :class:`BodyTooSlow`, and :class:`BadRequest` for a body
        that is not as long, or not the one, that its headers say.
        """
        if not self.ahead:
            piece = from_thread.run(self.gathered, _ENOUGH) if self.pieces.more else b""
            if not piece:
                self.check_end()
                return b""
            self.ahead = memoryview(piece)
        part = bytes(self.ahead[:size]) if size < len(self.ahead) else bytes(self.ahead)
        self.ahead = self.ahead[size:]
        return part

    async def gathered(self, enough: int) -> bytes:
        """The next bytes, some pieces of them: each way to the event loop and back costs.

        Others have the place while they are waited for.
        """
        found: list[bytes] = []
        num_bytes = 0
        while num_bytes < enough:
            with self.turn.listening():
                piece = await self.pieces.next()
            if not piece:
                break
            self.count(piece)
            found.append(piece)
            num_bytes += len(piece)
        await self.turn.ready()
        return found[0] if len(found) == 1 else b"".join(found)

    def count(self, piece: bytes) -> None:
        """Raises :class:`TooLarge` beyond the limit."""
        self.num_bytes += len(piece)
        if self.num_bytes > self.max_bytes:
            raise _make_too_large("an upload", self.max_bytes)
        for _name, digest, _wanted in self.digests:
            digest.update(piece)

    def check_end(self) -> None:
        """Raises :class:`BadRequest` for a body that its headers do not fit."""
        _check_length(self.num_bytes, self.length)
        for name, digest, wanted in self.digests:
            if digest.digest() != wanted:
                raise BadRequest(
                    f"the body is not the one that Content-Digest ({name}) names",
                    hint="nothing was kept; send it again",
                    places=(Place("header/Content-Digest", "does not fit the body"),),
                )


def _check_length(num_bytes: int, length: int | None) -> None:
    if length is not None and num_bytes != length:
        raise BadRequest(
            f"the body has {num_bytes:,} bytes, Content-Length says {length:,}",
            hint="nothing was kept; send it again",
            places=(Place("header/Content-Length", "does not fit the body"),),
        )


def _parse_digests(request: Request) -> list[tuple[str, "_Hash", bytes]]:
    """What ``Content-Digest`` (RFC 9530) says; algorithms that we do not know say nothing."""
    found: list[tuple[str, _Hash, bytes]] = []
    for part in ",".join(request.headers.getlist("content-digest")).split(","):
        match = _DIGEST.fullmatch(part)
        if match is None or match[1] not in {"sha-256", "sha-512"}:
            continue
        try:
            wanted = base64.b64decode(match[2], validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadRequest(
                "Content-Digest is not Base64",
                hint="give the digest as RFC 9530 says, or leave the header out",
                places=(Place("header/Content-Digest", "not Base64"),),
            ) from error
        found.append((match[1], hashlib.new(match[1].replace("-", "")), wanted))
    return found


def _make_too_large(name: str, max_bytes: int) -> TooLarge:
    return TooLarge(
        f"{name} may have {max_bytes:,} bytes",
        hint="send less at once; TRIAGE_MAX_ARTIFACT_BYTES, TRIAGE_MAX_BUNDLE_BYTES and"
        " TRIAGE_MAX_HOOK_BYTES set the limits",
        places=(Place("body", f"has more than {max_bytes:,} bytes"),),
    )
