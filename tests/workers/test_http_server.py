"""The HTTP server under clients that send next to nothing, and the addresses it takes."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from triage.cli.http_server import GuardedProtocol, HttpServer, bind, build_server_config
from triage.cli.service import format_listen_address, is_loopback
from triage.errors import UsageError

REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n"
# What has to come in time from this process comes in less, however busy the machine is.
LIMIT_S = 3.0


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def answering() -> Iterator[tuple[str, int]]:
    """A server in a thread, once it answers."""
    ready, stopping = threading.Event(), threading.Event()
    with bind("127.0.0.1", 0) as sock:
        host, port = sock.getsockname()
        server: uvicorn.Server = HttpServer(build_server_config(app), ready.set, stopping.set)
        thread = threading.Thread(target=server.run, args=[[sock]])
        thread.start()
        assert ready.wait(60)
        try:
            yield host, port
        finally:
            server.should_exit = True
            thread.join(60)
    assert stopping.is_set()
    assert not thread.is_alive()


def closed_within(one: socket.socket, seconds: float, drip: bytes = b"") -> bool:
    """Whether the other side ends the connection, though we send a little now and then."""
    end = time.monotonic() + seconds
    one.settimeout(0.1)
    while time.monotonic() < end:
        try:
            if drip:
                one.sendall(drip)
            if not one.recv(100):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize("first", [b"", REQUEST], ids=["silent", "head that never ends"])
def test_a_head_that_does_not_end_is_cut_off(first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardedProtocol, "head_s", 0.3)
    with answering() as where, socket.create_connection(where) as one:
        one.sendall(first)

        assert closed_within(one, 60, drip=b"X-A: b\r\n" if first else b"")


def test_a_whole_request_is_answered_however_slowly_its_head_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GuardedProtocol, "head_s", 60.0)
    with answering() as where, socket.create_connection(where) as one:
        for byte in REQUEST + b"\r\n":
            one.sendall(bytes([byte]))
        one.settimeout(60)

        assert one.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_connection_that_was_answered_is_not_taken_for_a_silent_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GuardedProtocol, "head_s", LIMIT_S)
    with answering() as where, socket.create_connection(where) as one:
        for _ in range(2):
            one.settimeout(60)
            one.sendall(REQUEST + b"\r\n")
            assert one.recv(1000).startswith(b"HTTP/1.1 200")
            assert not closed_within(one, 1.3 * LIMIT_S)


def test_a_body_that_drips_on_behind_its_answer_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GuardedProtocol, "rest_s", 0.3)
    with answering() as where, socket.create_connection(where) as one:
        one.sendall(REQUEST + b"Content-Length: 1000000\r\n\r\n")
        one.settimeout(60)
        assert one.recv(1000).startswith(b"HTTP/1.1 200")

        assert closed_within(one, 60, drip=b"x")


def test_a_body_that_ends_soon_behind_its_answer_costs_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GuardedProtocol, "rest_s", LIMIT_S)
    with answering() as where, socket.create_connection(where) as one:
        one.settimeout(60)
        one.sendall(REQUEST + b"Content-Length: 2\r\n\r\n")
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
        for byte in (b"x", b"x"):
            one.sendall(byte)
        assert not closed_within(one, 1.3 * LIMIT_S)
        one.sendall(REQUEST + b"\r\n")
        one.settimeout(60)
        assert one.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_head_without_end_in_size_is_refused() -> None:
    with answering() as where, socket.create_connection(where) as one:
        one.settimeout(60)
        try:
            one.sendall(REQUEST + b"X-A: " + b"a" * 100_000)
            answer = one.recv(1000)
        except ConnectionError:
            answer = b""

    assert not answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("192.0.2.1", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_host_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="is no address of this machine"):
        is_loopback("no such host")


def test_the_address_can_be_used_as_it_is_printed() -> None:
    with bind("::1", 0) as sock:
        assert format_listen_address("::1", sock) == f"http://[::1]:{sock.getsockname()[1]}"
    with bind("127.0.0.1", 0) as sock:
        assert (
            format_listen_address("127.0.0.1", sock) == f"http://127.0.0.1:{sock.getsockname()[1]}"
        )
