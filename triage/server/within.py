"""The service's routes in a process of its own: nothing listens, nothing has to run."""

import logging
from asyncio import Runner

import httpx2

from triage.server.application import create_app
from triage.services.context import Context


class WithinProcess(httpx2.BaseTransport):
    """Carries the requests of a client to the application over ``ctx``, whoever asks.

    A command of an operator is such a client: who can open the database needs no token.
    """

    def __init__(self, ctx: Context) -> None:
        self.app = httpx2.ASGITransport(create_app(ctx, open_access=True))
        self.runner = Runner()
        # Who asks reads the answer itself.
        self.log = logging.getLogger("triage.api")
        self.level = self.log.level
        self.log.setLevel(logging.WARNING)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, whole."""
        request.stream = httpx2.ByteStream(request.read())
        return self.runner.run(self.answered(request))

    async def answered(self, request: httpx2.Request) -> httpx2.Response:
        """The answer with its body as the application sent it."""
        answer = await self.app.handle_async_request(request)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        content = b"".join([part async for part in answer.stream])
        return httpx2.Response(
            answer.status_code, headers=answer.headers, stream=httpx2.ByteStream(content)
        )

    def close(self) -> None:
        """End the loop."""
        self.log.setLevel(self.level)
        self.runner.close()
