"""The HTTP server: uvicorn with limits, and a guard against clients that send next to nothing.

A connection that does not complete the head of a request in time is closed; so is one that
stays idle between requests. Bodies have limits of their own, in the API.
"""

import asyncio
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

__all__ = ["HttpServer", "bind", "server_config"]

HEAD_S: Final = 15.0
IDLE_S: Final = 30
# Requests that are being answered may go on for so long after SIGTERM.
GRACE_S: Final = 20
MOST_HEAD_BYTES: Final = 32 * 1024
# Every node of a job may knock at once.
BACKLOG: Final = 4096
# Bytes that are no HTTP never reach the API, so their refusal is written here.
NO_HTTP: Final = (
    b'{"type":"/docs#problem-bad-request","title":"Bad request","status":400,"detail":"the bytes'
    b' that came are not HTTP/1.1","instance":"/","errors":[{"place":"request","message":"its head'
    b' or the framing of its body is wrong"}],"hint":"send one Content-Length, or chunks, and at'
    b' most 32 KiB of headers"}'
)
NO_HTTP_HEADERS: Final = [
    (b"content-type", b"application/problem+json"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"connection", b"close"),
]


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a time within which a head has to be whole."""

    head_s = HEAD_S
    head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The clock runs from the first moment: a silent connection is closed too."""
        super().connection_made(transport)
        self.watch_head()

    def data_received(self, data: bytes) -> None:
        """After each piece, the clock runs where a head is still open."""
        super().data_received(data)
        self.watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to watch."""
        self.stop_watching()
        super().connection_lost(exc)

    def watch_head(self) -> None:
        """Start the clock for a head, once, and stop it when the head is there."""
        if self.conn.their_state is not h11.IDLE:
            self.stop_watching()
        elif self.head_timer is None:
            self.head_timer = self.loop.call_later(self.head_s, self.close_silent)

    def stop_watching(self) -> None:
        """Stop the clock."""
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the base class calls it
        """What is no HTTP is answered with a problem document too, and nothing after it.

        Whoever waits for the rest of its body learns that the client is gone.
        """
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            length = [(b"content-length", b"%d" % len(NO_HTTP))]
            answer = h11.Response(status_code=400, headers=NO_HTTP_HEADERS + length)
            for part in (answer, h11.Data(data=NO_HTTP), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part))
        self.transport.close()

    def close_silent(self) -> None:
        """The head did not come in time."""
        self.head_timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.abort()


class HttpServer(uvicorn.Server):
    """Tells when it answers, and when it begins to stop."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self.tell_ready = ready
        self.tell_stop = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets)
        self.tell_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that it stops, then finish what is being answered."""
        self.tell_stop()
        await super().shutdown(sockets)


def server_config(app: Any) -> uvicorn.Config:  # noqa: ANN401 - an ASGI application
    """How this application is served."""
    return uvicorn.Config(
        app,
        http=GuardedProtocol,
        ws="none",
        lifespan="auto",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MOST_HEAD_BYTES,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=GRACE_S,
        backlog=BACKLOG,
    )


def bind(host: str, port: int) -> socket.socket:
    """A socket on this address, not yet listening; port 0 lets the system choose one.

    Raises :class:`OSError` where the address cannot be had.
    """
    allow_many_connections()
    found = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
    )
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def allow_many_connections() -> None:
    # The usual soft limit, 1,024 files, is less than the nodes of one large job.
    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
