"""Over HTTP: one message of the protocol, answered as JSON and without a session.

Any process of a service answers any message: nothing is remembered between two of them.
"""

from typing import Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from triage.agents.asking import Ask
from triage.agents.server import Analyse, Run, build_mcp_server, map_tools
from triage.agents.shapes import OfFiles

HOW: Final = "Takes up to 8 short texts with their names, 256 KiB together; keeps nothing."


def answer_message(body: bytes, ask: Ask, analyse: Run) -> Response:
    """What answers one message, which was read already."""
    manager = StreamableHTTPSessionManager(
        build_mcp_server(map_tools(ask, Analyse(OfFiles, HOW, analyse))),
        json_response=True,
        stateless=True,
        max_request_body_size=max(1, len(body)),
    )
    return OneMessage(manager, body)


class OneMessage(Response):
    """The answer to one message, sent by the protocol's own package."""

    def __init__(self, manager: StreamableHTTPSessionManager, body: bytes) -> None:
        super().__init__()
        self.manager = manager
        self.message = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the message over, and the answer out."""
        was_read = False

        async def once() -> Message:
            nonlocal was_read
            if was_read:
                return await receive()
            was_read = True
            return {"type": "http.request", "body": self.message, "more_body": False}

        async with self.manager.run():
            await self.manager.handle_request(scope, once, send)
