"""The HTTP server: uvicorn with limits, and a guard against clients that send next to nothing.

A connection that does not complete the head of a request in time is closed; so is one that
stays idle between requests, and one that goes on with a body which was answered already.
Bodies that are still read have limits of their own, in the API.
"""

import asyncio
import os
import resource
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_HEAD_S: Final = 15.0
# A client that is refused in the middle of its body has this long to read the answer.
_REST_S: Final = 15.0
_IDLE_S: Final = 30
# How long requests in progress may take to finish after SIGTERM.
_GRACE_S: Final = 20
# After SIGTERM, whatever the process still waits for: it ends. Leases give back what it held.
LAST_S: Final = 28.0
_MOST_HEAD_BYTES: Final = 32 * 1024
# Thousands of uploads may wait for their turn. Of each, only the beginning of the body is read,
# in small pieces; once it has its turn, large pieces cost less.
_SMALL_PIECE: Final = 4 << 10
_LARGE_PIECE: Final = 256 << 10
_BEGINNING: Final = 4 << 10
# Every node of a job may connect at once.
_BACKLOG: Final = 4096
# Bytes that are no HTTP never reach the API, so their refusal is written here.
_NO_HTTP: Final = (
    b'{"type":"/docs#problem-bad-request","title":"Bad request","status":400,"detail":"the bytes'
    b' that came are not HTTP/1.1","instance":"/","errors":[{"place":"request","message":"its head'
    b' or the framing of its body is wrong"}],"hint":"send one Content-Length, or chunks, and at'
    b' most 32 KiB of headers"}'
)
_NO_HTTP_HEADERS: Final = [
    (b"content-type", b"application/problem+json"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"connection", b"close"),
]


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a time within which a head has to be whole, and one
    for the rest of a body that nobody wants any more.
    """

    head_s = _HEAD_S
    rest_s = _REST_S
    num_bytes = 0
    head_timer: asyncio.TimerHandle | None = None
    rest_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The clock runs from the first moment: a silent connection is closed too."""
        super().connection_made(transport)
        self.read_in(_SMALL_PIECE)
        self.watch_head()

    def read_in(self, size: int) -> None:
        """Read up to ``size`` bytes at once from now on, by an attribute of asyncio's."""
        self.transport.max_size = size  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """After each piece, a clock runs where a head is still open, or a body is in vain."""
        super().data_received(data)
        self.num_bytes += len(data)
        if self.num_bytes >= 2 * _BEGINNING:
            self.read_in(_LARGE_PIECE)
        elif self.num_bytes >= _BEGINNING and self.is_read():
            # The handler resumes reading when it wants more of the body.
            self.flow.pause_reading()
        self.watch_head()
        self.watch_rest()

    def is_read(self) -> bool:
        """Whether a body is coming that somebody still wants."""
        return self.conn.their_state is h11.SEND_BODY and self.conn.our_state is not h11.DONE

    def on_response_complete(self) -> None:
        """The next request on this connection begins in small pieces again."""
        self.num_bytes = 0
        self.read_in(_SMALL_PIECE)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to watch."""
        self.stop_watching()
        self.stop_rest()
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

    def watch_rest(self) -> None:
        """Start the clock for a body that goes on behind its answer, and stop it at its end.

        Each piece of it undoes uvicorn's own clock of connections on which nothing happens.
        """
        in_vain = self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE
        if not in_vain:
            self.stop_rest()
        elif self.rest_timer is None:
            self.rest_timer = self.loop.call_later(self.rest_s, self.transport.abort)

    def stop_rest(self) -> None:
        """Stop the clock of a body in vain."""
        if self.rest_timer is not None:
            self.rest_timer.cancel()
            self.rest_timer = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the base class calls it
        """Answer bytes that are no HTTP with a problem document, and close.

        A handler that waits for the rest of a body learns that the client is gone.
        """
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            length = [(b"content-length", b"%d" % len(_NO_HTTP))]
            answer = h11.Response(status_code=400, headers=_NO_HTTP_HEADERS + length)
            for part in (answer, h11.Data(data=_NO_HTTP), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part))
        self.transport.close()

    def close_silent(self) -> None:
        """The head did not come in time."""
        self.head_timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.abort()


class HttpServer(uvicorn.Server):
    """A server that calls ``ready`` once it answers, and ``stop`` when it begins to stop."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self.tell_ready = ready
        self.tell_stop = stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; whatever hangs, the process ends before who sent the signal kills it."""
        if not self.should_exit:
            last = threading.Timer(LAST_S, os._exit, args=[1])
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets)
        self.tell_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that it stops, then finish what is being answered."""
        self.tell_stop()
        await super().shutdown(sockets)


def build_server_config(app: Any) -> uvicorn.Config:  # noqa: ANN401 - an ASGI application
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
        h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_GRACE_S,
        backlog=_BACKLOG,
    )


def bind(host: str, port: int) -> socket.socket:
    """A socket on this address, not yet listening; port 0 lets the system choose one.

    Raises :class:`OSError` where the address cannot be had.
    """
    _allow_many_connections()
    infos = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
    )
    family, kind, protocol, _, address = infos[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def _allow_many_connections() -> None:
    # The usual soft limit, 1,024 files, is less than the nodes of one large job.
    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
