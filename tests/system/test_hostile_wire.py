"""HTTP that lies, breaks off, drips or floods: a problem document or a closed connection."""

import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.system.attacked import Attacked, attacked, fault_of, received, within
from tests.system.wire import answers_in, chunked, request
from tests.workers.running import alive

MIB = 1 << 20
TEXT = b"[rank0]: step 100 loss 2.0\n"
JOB = "/v1/jobs/wire"
SEND = f"{JOB}/artifacts?filename=a.log"
HOOK = "/v1/hooks/job-failed"
# Under load of other tests, and less than the service waits for those that drip; what it is in
# peace is for the benchmark to say.
QUICK_S = 12.0
PATIENT = {"TRIAGE_BODY_GRACE_S": 60, "TRIAGE_BODY_IDLE_S": 60}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """One for all tests of this file; at the end nothing has died or been written elsewhere."""
    with attacked(tmp_path_factory.mktemp("wire"), TRIAGE_QUIET_S=600, **PATIENT) as found:
        yield found
        assert found.faults() == []
        assert found.peaks.api < 300


@pytest.fixture(autouse=True)
def lives(service: Attacked) -> Iterator[None]:
    """After every test the same processes are there."""
    yield
    assert service.process.poll() is None
    assert alive(service.worker)


def upload(*headers: str, body: bytes = b"", **more: bool) -> bytes:
    return request("POST", SEND, *headers, body=body, **more)


LONG = "x" * 5_000
OLD = b"POST " + SEND.encode() + b" HTTP/1.0\r\nHost: [::1]\r\n"
# (id, what is sent, what may be answered; no answer is a clean close)
FRAMING: list[tuple[str, bytes, set[tuple[int, ...]]]] = [
    ("length-longer", upload("Content-Length: 99", body=TEXT), {(), (400,)}),
    ("length-shorter", upload("Content-Length: 5", body=TEXT), {(201,), (200,)}),
    ("length-shorter-kept", upload("Content-Length: 5", body=TEXT + b"\r\n\r\n", close=False),
     {(201, 400), (200, 400)}),
    ("length-negative", upload("Content-Length: -1", body=TEXT), {(400,)}),
    ("length-plus", upload("Content-Length: +5", body=TEXT), {(400,)}),
    ("length-word", upload("Content-Length: five", body=TEXT), {(400,)}),
    ("length-hex", upload("Content-Length: 0x10", body=TEXT), {(400,)}),
    ("length-float", upload("Content-Length: 5.0", body=TEXT), {(400,)}),
    ("length-digits-of-elsewhere", upload("Content-Length: \xb2", body=TEXT), {(400,)}),
    ("length-nothing", upload("Content-Length:", body=TEXT), {(400,)}),
    ("length-two", upload("Content-Length: 5", "Content-Length: 6", body=TEXT), {(400,)}),
    ("length-list", upload("Content-Length: 5, 6", body=TEXT), {(400,)}),
    ("length-of-a-galaxy", upload(f"Content-Length: {'9' * 30}"), {(400,), (413,)}),
    ("length-of-5000-digits", upload(f"Content-Length: {'9' * 5000}"), {(400,), (413,)}),
    ("length-beyond-the-limit", upload(f"Content-Length: {257 * MIB}"), {(413,)}),
    ("chunks", upload("Transfer-Encoding: chunked", body=chunked(TEXT, TEXT)), {(201,)}),
    ("chunks-cut", upload("Transfer-Encoding: chunked", body=b"40\r\n" + TEXT), {(), (400,)}),
    ("chunks-without-end", upload("Transfer-Encoding: chunked", body=chunked(TEXT, end=b"")),
     {(), (400,)}),
    ("chunk-of-64-bits", upload("Transfer-Encoding: chunked", body=b"f" * 16 + b"\r\n" + TEXT),
     {(), (400,)}),
    ("chunk-of-5000-digits", upload("Transfer-Encoding: chunked", body=b"f" * 5000 + b"\r\n"),
     {(400,)}),
    ("chunk-negative", upload("Transfer-Encoding: chunked", body=b"-5\r\n" + TEXT), {(400,)}),
    ("chunk-no-number", upload("Transfer-Encoding: chunked", body=b"zz\r\n" + TEXT), {(400,)}),
    ("chunk-too-long", upload("Transfer-Encoding: chunked", body=b"3\r\n" + TEXT), {(400,)}),
    ("chunk-extension", upload("Transfer-Encoding: chunked", body=b"3;a=b\r\nabc\r\n0\r\n\r\n"),
     {(201,), (400,)}),
    ("trailers", upload("Transfer-Encoding: chunked",
                        body=chunked(b"t" + TEXT, end=b"0\r\nX: 1\r\nContent-Length: 3\r\n\r\n")),
     {(201,), (400,)}),
    ("trailers-without-end", upload("Transfer-Encoding: chunked",
                                    body=chunked(TEXT, end=b"0\r\n" + b"X: y\r\n" * 20_000)),
     {(), (400,)}),
    ("chunks-and-length", upload("Transfer-Encoding: chunked", "Content-Length: 3",
                                 body=chunked(b"smuggled")), {(400,)}),
    ("chunks-and-length-agree", upload("Transfer-Encoding: chunked", "Content-Length: 8",
                                       body=chunked(b"smuggled")), {(400,)}),
    ("chunks-twice", upload("Transfer-Encoding: chunked, chunked", body=chunked(TEXT)),
     {(400,), (501,)}),
    ("coding-unknown", upload("Transfer-Encoding: xchunked", body=chunked(TEXT)), {(400,), (501,)}),
    ("coding-with-tab", upload("Transfer-Encoding: \x0bchunked", body=chunked(TEXT)),
     {(400,), (501,)}),
    ("coding-name-with-blank", upload("Transfer-Encoding : chunked", body=chunked(TEXT)), {(400,)}),
    ("digest-of-other-bytes", upload(f"Content-Digest: sha-256=:{'A' * 43}=:", body=TEXT,
                                     length=True), {(400,)}),
    ("digest-nonsense", upload("Content-Digest: sha-256=:!!!:", body=b"d" + TEXT, length=True),
     {(400,), (201,)}),
]  # fmt: skip
HEADS: list[tuple[str, bytes, set[tuple[int, ...]]]] = [
    ("nothing", b"", {()}),
    ("line-feeds", b"\n" * 100, {(), (400,)}),
    ("noise", bytes(range(256)) * 8, {(400,)}),
    ("zeros", bytes(5_000), {(400,)}),
    ("tls", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500) + b"\n", {(400,), ()}),
    ("http-2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {(400,), (404, 400)}),
    ("http-0.9", b"GET /healthz\r\n\r\n", {(400,)}),
    ("http-9.9", request("GET", "/healthz", version="HTTP/9.9"), {(400,), (200,)}),
    ("http-1.0", request("GET", "/healthz", version="HTTP/1.0"), {(200,)}),
    ("http-1.0-upload", OLD + b"Content-Length: 3\r\n\r\nold",
     {(201,)}),
    ("http-1.0-until-closed", OLD + b"\r\nold", {(201,), (200,)}),
    ("no-host", b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", {(400,)}),
    ("two-hosts", request("GET", "/healthz", "Host: evil"), {(400,)}),
    ("two-blanks", b"GET  /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n", {(400,)}),
    ("bare-line-feeds", b"GET /healthz HTTP/1.1\nHost: [::1]\nConnection: close\n\n",
     {(200,), (400,)}),
    ("bare-returns", b"GET /healthz HTTP/1.1\rHost: [::1]\r\r\n\r\n", {(400,), ()}),
    ("folded", request("GET", "/healthz", "X-A: b\r\n  c"), {(200,), (400,)}),
    ("nul-in-a-header", request("GET", "/healthz", "X-A: b\0c"), {(400,)}),
    ("latin-in-a-header", request("GET", "/healthz", "X-Request-Id: \xe9\xff"), {(200,)}),
    ("method-unknown", request("BREW", "/v1/incidents"), {(405,)}),
    ("method-lower", request("get", "/healthz"), {(405,), (400,)}),
    ("method-long", request("A" * 5_000, "/healthz"), {(405,), (400,)}),
    ("trace", request("TRACE", "/v1/incidents"), {(405,)}),
    ("connect", request("CONNECT", "evil.example:443"), {(404,), (405,), (400,)}),
    ("star", request("OPTIONS", "*"), {(404,), (405,), (400,)}),
    ("absolute", request("GET", "http://triage/healthz"), {(404,), (200,)}),
    ("absolute-elsewhere", request("GET", "http://169.254.169.254/latest/"), {(404,)}),
    ("two-slashes", request("GET", "//evil.example/healthz"), {(404,)}),
    ("bytes-in-the-target", b"GET /\xff\xfe HTTP/1.1\r\nHost: [::1]\r\n\r\n", {(400,), (404,)}),
    ("websocket", request("GET", "/v1/incidents", "Upgrade: websocket",
                          "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"), {(200,), (400,)}),
    ("h2c", request("GET", "/healthz", "Upgrade: h2c"), {(200,)}),
    ("expect-nonsense", request("GET", "/healthz", "Expect: 42-tricks"), {(200,), (417,)}),
    ("one-long-header", request("GET", "/healthz", "X-A: " + "a" * 600_000), {(400,), (431,)}),
    ("many-headers", request("GET", "/healthz", *[f"X-{k}: y" for k in range(80_000)]),
     {(400,), (431,)}),
    ("long-target", request("GET", "/healthz?" + "a" * 600_000), {(400,), (414,)}),
    ("long-query", request("GET", "/v1/incidents?job_id=" + LONG), {(422,)}),
    ("ranges", request("GET", "/v1/incidents", "Range: bytes=0-9, -1, 5-"), {(200,)}),
    ("etags", request("GET", "/v1/incidents", 'If-None-Match: W/"' + LONG), {(200,)}),
    ("accept", request("GET", "/v1/incidents", "Accept: " + "a/b;q=9," * 900), {(200,), (406,)}),
    ("pipelined", request("GET", "/healthz", close=False) * 20 + request("GET", "/healthz"),
     {(200,) * 21}),
    ("pipelined-upload", upload("Transfer-Encoding: chunked", body=chunked(b"p" + TEXT),
                                close=False) + request("GET", "/nowhere"), {(201, 404)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [(s, w) for _, s, w in FRAMING + HEADS],
    ids=[i for i, _, _ in FRAMING + HEADS],
)
def test_is_answered_with_a_problem_or_closed(
    sent: bytes, wanted: set[tuple[int, ...]], service: Attacked
) -> None:
    answers = answers_in(service.raw(sent, half_close=waits_for_more(sent)))

    assert tuple(one.status for one in answers) in wanted, answers
    assert [fault for one in answers if (fault := fault_of(one))] == []


def waits_for_more(sent: bytes) -> bool:
    """Whether only the end of the connection can end this request."""
    names = {i for i, s, _ in FRAMING + HEADS if s is sent}
    return bool(
        names & {"length-longer", "chunks-cut", "chunks-without-end", "chunk-of-64-bits", "nothing",
                 "line-feeds", "tls", "bare-returns", "trailers-without-end"}
    )  # fmt: skip


def test_what_follows_a_smuggled_body_is_not_a_request(service: Attacked) -> None:
    inner = request("GET", "/v1/incidents")
    body = b"0\r\n\r\n" + inner
    raw = service.raw(
        upload("Transfer-Encoding: chunked", f"Content-Length: {len(body)}", body=body, close=False)
    )

    assert [one.status for one in answers_in(raw)] == [400]


def test_an_answer_that_has_begun_is_not_broken_by_bad_bytes_behind_it(service: Attacked) -> None:
    """Refused by its headers at once, while its body turns out to be nonsense."""
    head = request("POST", "/v1/jobs/wire/artifacts?rank=x", "Transfer-Encoding: chunked")

    for pause_s in (0.0, 0.3):
        with socket.create_connection(service.where, timeout=60) as sock:
            sock.sendall(head)
            time.sleep(pause_s)
            with suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(b"zz\r\n" * 1_000)
            answers = answers_in(received(sock))
        assert [one.status for one in answers] in ([422], [400], [])


def test_a_hundred_megabytes_of_headers_are_not_kept(service: Attacked) -> None:
    sent = 0
    with (
        socket.create_connection(service.where, timeout=60) as sock,
        suppress(BrokenPipeError, ConnectionResetError),
    ):
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: [::1]\r\n")
        while sent < 100 * MIB:
            sock.sendall(b"X-A: " + b"a" * 1_000 + b"\r\n")
            sent += 1_007

    assert sent < 8 * MIB, "what the system buffers, and no more"


def test_three_hundred_silent_connections_and_slow_senders_delay_nobody(
    service: Attacked,
) -> None:
    """Heads and bodies that drip, beside connections that say nothing at all."""
    head = upload("Content-Length: 1000", close=False)
    silent = [socket.create_connection(service.where) for _ in range(300)]
    heads = [socket.create_connection(service.where) for _ in range(5)]
    bodies = [socket.create_connection(service.where) for _ in range(5)]
    ended = threading.Event()

    def drip() -> None:
        for sock in bodies:
            sock.sendall(head)
        for k in range(10_000):
            if ended.wait(0.1):
                return
            # The service gives up on them in time.
            for sock in heads:
                with suppress(OSError):
                    sock.sendall(b"POST / HTTP/1.1\r\nX-A: bbbbbbbbbbbb"[k % 33 : k % 33 + 1])
            for sock in bodies:
                with suppress(OSError):
                    sock.sendall(b"s")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        time.sleep(0.5)
        for k in range(5):
            within(lambda: service.call("GET", "/v1/incidents"), QUICK_S)
            body = b"honest %d\n" % k
            answer = service.call("POST", SEND, body)
            assert answer.status in {200, 201}
            within(lambda body=body: service.call("POST", SEND, body), QUICK_S)
    finally:
        ended.set()
        dripping.join()
        for sock in silent + heads + bodies:
            sock.close()


def test_what_was_acknowledged_amid_all_this_is_there_and_read(service: Attacked) -> None:
    job = "honest"
    incident = service.opened(job, world_size=8)
    stop = threading.Event()

    def disturb(k: int) -> None:
        while not stop.is_set():
            service.raw(FRAMING[k % len(FRAMING)][1], half_close=True)
            k += 7

    def send(number: int) -> str:
        quoted = urllib.parse.quote(f"log {number}.log")
        path = f"/v1/jobs/{job}/artifacts?incident={incident}&filename={quoted}"
        answer = service.call("POST", path, b"[rank0]: step %d loss 2.0\n" % number)
        assert answer.status == 201, answer.body
        return str(answer.json()["id"])

    with ThreadPoolExecutor(6) as pool:
        noise = [pool.submit(disturb, k) for k in range(3)]
        kept = list(pool.map(send, range(20)))
        stop.set()
        for one in noise:
            one.result()

    rows = {row["id"]: row for row in service.items(f"/v1/incidents/{incident}/artifacts")}
    assert rows.keys() == set(kept)
    assert len(kept) == len(set(kept)) == 20


def test_the_log_holds_no_stranger_s_control_characters(service: Attacked) -> None:
    log = Path(service.folder / "serve.err").read_bytes()

    assert not [byte for byte in set(log) if byte < 32 and byte != 10]
