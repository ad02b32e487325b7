"""Servers that are slow, lie, or send for ever: an answer or a reason, always in time."""

import socket
import time

import pytest

from triage.collectors.artifact import Deadline
from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE
from triage.collectors.live.servers import ask_ras_status, find_ras_address, post

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def asking(line: socket.socket) -> bytes:
    return line.recv(65536)


def whole(line: socket.socket) -> None:
    asking(line)
    line.sendall(HEAD + b"Content-Length: 5\r\n\r\nstack")
    time.sleep(600)  # a server that keeps the connection open


def chunked(line: socket.socket) -> None:
    asking(line)
    line.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nsta\r\n2;x=1\r\nck\r\n0\r\n\r\n")


def silent(line: socket.socket) -> None:
    asking(line)
    time.sleep(600)


def endless(line: socket.socket) -> None:
    asking(line)
    line.sendall(HEAD + b"\r\n")
    while True:
        line.sendall(b"x" * 65536)


def endless_head(line: socket.socket) -> None:
    asking(line)
    line.sendall(HEAD)
    while True:
        line.sendall(b"X-More: yes\r\n" * 1000)


def trickle(line: socket.socket) -> None:
    asking(line)
    line.sendall(HEAD + b"\r\n")
    while True:
        line.sendall(b"x")
        time.sleep(0.05)


def short(line: socket.socket) -> None:
    asking(line)
    line.sendall(HEAD + b"Content-Length: 500\r\n\r\nstack")


def no_http(line: socket.socket) -> None:
    asking(line)
    line.sendall(b"\x80\x02}q\x00." * 10)


def closes(line: socket.socket) -> None:
    asking(line)


@pytest.mark.parametrize(
    ("answer", "data", "why"),
    [
        (whole, b"stack", ""),
        (chunked, b"stack", ""),
        (silent, b"", "no answer in time"),
        (endless, b"x" * 1000, "more than 1,000 bytes"),
        (endless_head, b"", ""),
        (trickle, None, "did not end in time"),
        (short, b"stack", "5 of 500 bytes came"),
        (no_http, b"", "no server of HTTP"),
        (closes, b"", "no server of HTTP"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_server_is_read_within_bounds(serve, answer, data, why) -> None:
    began = time.monotonic()
    got = post(serve(answer), "/handler/dump_traceback", Deadline(1.0), 1000)

    assert time.monotonic() - began < 20.0
    assert data is None or got.data == data
    assert why in got.why
    assert got.why or got.status == 200


def test_nobody_there_is_told_from_silence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    got = post(address, "/", Deadline(5.0), 1000)

    assert got.refused
    assert got.why == "nobody listens there"


def ras(*, knows_json: bool, report: bytes = b'{"nccl_version": "2.29.7"}\n'):
    def answer(line: socket.socket) -> None:
        data = b""
        while part := line.recv(4096):
            data += part
            while b"\n" in data:
                command, _, data = data.partition(b"\n")
                if command.startswith(b"CLIENT"):
                    line.sendall(b"SERVER PROTOCOL 2\n")
                elif command.startswith(b"TIMEOUT"):
                    line.sendall(b"OK\n")
                elif command.startswith(b"SET"):
                    line.sendall(b"OK\n" if knows_json else b"ERROR: Unknown command\n")
                else:
                    line.sendall(report)
                    return

    return answer


def test_ras_answers_in_json(serve) -> None:
    asked, data, ending = ask_ras_status(serve(ras(knows_json=True)), Deadline(10.0))

    assert (asked.reply, data, ending) == (ANSWERED, b'{"nccl_version": "2.29.7"}\n', "json")


def test_an_older_ras_answers_in_text(serve) -> None:
    address = serve(ras(knows_json=False, report=b"NCCL version 2.24.3\n"))
    asked, data, ending = ask_ras_status(address, Deadline(10.0))

    assert (asked.reply, data, ending) == (ANSWERED, b"NCCL version 2.24.3\n", "txt")


@pytest.mark.parametrize(
    ("answer", "reply"),
    [(silent, SILENT), (no_http, TOOL_FAILED), (closes, TOOL_FAILED)],
    ids=["silent", "lies", "closes"],
)
def test_what_is_no_ras_is_said(serve, answer, reply) -> None:
    asked, data, _ = ask_ras_status(serve(answer), Deadline(1.0))

    assert data == b""
    assert asked.reply == reply
    assert asked.why


def test_a_ras_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    asked, _, _ = ask_ras_status(address, Deadline(5.0))

    assert asked.reply == UNREACHABLE


@pytest.mark.parametrize(
    ("variable", "address"),
    [
        ("", ("localhost", 28028)),
        ("localhost:28100", ("localhost", 28100)),
        ("[::1]:5000", ("::1", 5000)),
        ("0.0.0.0:5000", ("localhost", 5000)),
        ("nonsense", ("localhost", 28028)),
        ("n1:99999", ("localhost", 28028)),
    ],
)
def test_the_address_of_ras(variable: str, address: tuple[str, int]) -> None:
    assert find_ras_address({"NCCL_RAS_ADDR": variable}) == address
