"""Whoever is refused before the end of a body reads why, and not a broken connection."""

import json
import socket

import pytest

from tests.api.service import Service
from tests.api.test_uploads import request_head

BODY = bytes(3 << 20)


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_the_answer_arrives_though_the_body_is_refused(service: Service, framing: str) -> None:
    path = "/v1/jobs/linger/bundle?incident=inc_00000000000000000000"
    if framing == "length":
        header, body = f"Content-Length: {len(BODY)}", BODY
    else:
        header = "Transfer-Encoding: chunked"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.settimeout(60)
        head = request_head(service, path, f"{header}\r\nConnection: close")
        connection.sendall(head + body)
        got = b""
        while part := connection.recv(65536):
            got += part
    head, _, text = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404 ")
    assert json.loads(text)["detail"] == "there is no such incident"


def test_who_waits_to_be_asked_for_the_body_is_not_asked(service: Service) -> None:
    path = "/v1/jobs/linger/bundle?incident=inc_00000000000000000000"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.settimeout(60)
        headers = f"Content-Length: {5 << 30}\r\nExpect: 100-continue\r\nConnection: close"
        connection.sendall(request_head(service, path, headers))
        got = b""
        while part := connection.recv(65536):
            got += part
    assert got.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in got
