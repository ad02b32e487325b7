"""Pinned: HTTP/1.1 to addresses that were looked at before, with one end for everything.

The client asks for a host name and gets a connection to one of the given addresses, while
TLS and the Host header keep the name. Every wait on the socket ends at ``end`` (monotonic
seconds), so a receiver that sends one byte a second gains nothing.
"""

# ruff: noqa: ARG002 - the signatures are those of httpcore2

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore2

_MOST_TRIED = 3
_CONNECT_S = 5.0

_SocketOptions = Iterable[
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
]


def open_pinned_pool(
    addresses: tuple[str, ...], end: float, tls: ssl.SSLContext
) -> httpcore2.ConnectionPool:
    """A client for one request to ``addresses``, tried in turn until ``end``."""
    return httpcore2.ConnectionPool(
        ssl_context=tls,
        max_connections=1,
        max_keepalive_connections=0,
        network_backend=_Backend(addresses, end),
    )


class _Backend(httpcore2.NetworkBackend):
    """Connects to the given addresses, whatever host is asked for."""

    def __init__(self, addresses: tuple[str, ...], end: float) -> None:
        self._addresses = addresses[:_MOST_TRIED]
        self._end = end
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _SocketOptions | None = None,
    ) -> httpcore2.NetworkStream:
        failed: Exception = httpcore2.ConnectError("there is no address")
        for address in self._addresses:
            try:
                stream = self._sockets.connect_tcp(
                    address,
                    port,
                    min(_measure_time_left(self._end), _CONNECT_S),
                    None,
                    socket_options,
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
            else:
                return _Stream(stream, self._end)
        raise failed

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: _SocketOptions | None = None
    ) -> httpcore2.NetworkStream:
        raise httpcore2.ConnectError("a local socket is no receiver")


class _Stream(httpcore2.NetworkStream):
    """A stream whose waits end in time; timeouts of its own it does not need."""

    def __init__(self, stream: httpcore2.NetworkStream, end: float) -> None:
        self._stream = stream
        self._end = end

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _measure_time_left(self._end))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # A piece at a time, so that a receiver that reads one byte a second gains nothing.
        for start in range(0, len(buffer), 16_384):
            self._stream.write(buffer[start : start + 16_384], _measure_time_left(self._end))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _measure_time_left(self._end)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._end)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as its base class has it
        return self._stream.get_extra_info(info)


def _measure_time_left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time for the whole request is over")
    return left
