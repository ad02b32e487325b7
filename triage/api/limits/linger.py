"""An answer that comes before the end of the request's body is also read by its sender.

A connection that is closed while bytes of it lie unread is reset, and a reset may overtake
the answer: the sender sees no 503 with its Retry-After but a broken connection, and knocks
again at once. So the last word of such an answer waits until the body has ended, or the
sender has hung up, or enough was read in vain.
"""

from typing import Final

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_BYTES: Final = 8 << 20
_MOST_S: Final = 5.0


class Linger:
    """Wraps an application whose answers do not always wait for the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        ended = False

        async def receive_until_end() -> Message:
            nonlocal ended
            message = await receive()
            ended = ended or not message.get("more_body", False)
            return message

        async def answered(message: Message) -> None:
            last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not last or ended:
                await send(message)
                return
            await send({**message, "more_body": True})
            await read_in_vain(receive_until_end)
            await send({"type": "http.response.body", "body": b""})

        async def read_in_vain(more: Receive) -> None:
            num_bytes = 0
            with anyio.move_on_after(_MOST_S):
                while not ended and num_bytes < _MOST_BYTES:
                    num_bytes += len((await more()).get("body", b""))

        await self.app(scope, receive_until_end, answered)


def _has_body(scope: Scope) -> bool:
    """Whether a body comes that is sent unasked; whoever expects a 100 waits for the answer."""
    names = dict(scope["headers"])
    if names.get(b"expect", b"").lower() == b"100-continue":
        return False
    return b"transfer-encoding" in names or names.get(b"content-length", b"0") != b"0"
