"""Deliver: against receivers that do everything a receiver can do wrong."""

import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from standardwebhooks.webhooks import Webhook

from tests.notify.messages import message
from tests.notify.receivers import (
    OK,
    Receiver,
    answer,
    drip,
    flood,
    listener,
    reset,
    silence,
    was_called,
)
from triage import __version__
from triage.notify.deliver import MAX_RESPONSE_BYTES, send
from triage.notify.guard import Guard
from triage.notify.message import Event, Request, derive_message_id
from triage.notify.registry import render, validate
from triage.notify.signing import make_signing_secret, sign

HERE = Guard(["127.0.0.0/8"])


def post(port, guard=HERE, *, body=b'{"a":1}', timeout_s=60, path="/hook?k=v", **options):
    url = f"http://127.0.0.1:{port}{path}"
    request = Request("POST", url, {"content-type": "application/json"}, body)
    return send(request, guard, timeout_s=timeout_s, **options)


def test_a_message_arrives_as_it_is():
    with Receiver(OK) as receiver:
        attempt = post(receiver.port)
    assert (attempt.ok, attempt.status, attempt.error, attempt.gone) == (True, 200, None, False)
    assert attempt.response_excerpt == "ok"
    assert attempt.latency_ms >= 0
    head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
    lines = [line.lower() for line in head.split(b"\r\n")]
    assert lines[0] == b"post /hook?k=v http/1.1"
    assert f"user-agent: nccl-triage/{__version__}".encode() in lines
    assert f"host: 127.0.0.1:{receiver.port}".encode() in lines
    assert b"content-type: application/json" in lines
    assert body == b'{"a":1}'


def test_the_signature_of_what_arrives_is_verified_by_the_library():
    secret = make_signing_secret()
    told = message(Event.READY)
    with Receiver(answer(500), OK) as receiver:
        target = validate("generic", f"http://127.0.0.1:{receiver.port}/")
        request = render(told, target)
        identity = derive_message_id(told.incident_id, told.revision, told.event, 5)
        for _ in range(2):
            signed = sign([secret], identity, datetime.now(UTC), request.body)
            headers = {**request.headers, **signed}
            send(Request("POST", request.url, headers, request.body), HERE)
    bodies, ids = set(), set()
    for raw in receiver.requests:
        head, _, body = raw.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        assert Webhook(secret).verify(body, fields)["type"] == "incident.ready"
        bodies.add(body)
        ids.add(fields["webhook-id"])
    assert len(receiver.requests) == 2
    assert len(bodies) == len(ids) == 1


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_success(status):
    with Receiver(answer(status)) as receiver:
        assert post(receiver.port).ok


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 422, 429, 500, 503, 599])
def test_everything_else_is_not(status):
    with Receiver(answer(status, b"no")) as receiver:
        attempt = post(receiver.port)
    assert not attempt.ok
    assert attempt.status == status
    assert str(status) in attempt.error
    assert attempt.gone == (status == 410)
    assert attempt.receiver_failed == (status not in (400, 422))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    with listener() as inside:
        where = f"http://127.0.0.1:{inside.getsockname()[1]}/"
        with Receiver(answer(status, Location=where)) as receiver:
            attempt = post(receiver.port)
        assert not was_called(inside)
    assert not attempt.ok
    assert "redirects are not followed" in attempt.error


@pytest.mark.parametrize(
    ("value", "lowest", "highest"),
    [
        ("120", 120, 120),
        ("0", 0, 0),
        (timedelta(hours=1), 3_000, 3_600),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0, 0),
        ("9" * 400, 10**9, 10**9),
    ],
    ids=["seconds", "at once", "a date", "a date gone by", "absurd"],
)
def test_retry_after_is_read_in_both_forms(value, lowest, highest):
    if isinstance(value, timedelta):
        value = format_datetime(datetime.now(UTC) + value, usegmt=True)
    with Receiver(answer(429, Retry_After=value)) as receiver:
        attempt = post(receiver.port)
    assert lowest <= attempt.retry_after_s <= highest


@pytest.mark.parametrize("value", ["", "soon", "-5", "1.5", "٣", "Sun, 99 Nov 1994 08:49:37 GMT"])
def test_a_retry_after_that_says_nothing_is_ignored(value):
    said = answer(503).replace(b"\r\n\r\n", f"\r\nRetry-After: {value}\r\n\r\n".encode())
    with Receiver(said) as receiver:
        attempt = post(receiver.port)
    assert attempt.status == 503
    assert attempt.retry_after_s is None


@pytest.mark.parametrize(
    "act",
    [
        silence,
        reset,
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"not http at all\r\n\r\n",
        b"\x16\x03\x01" + b"\x00" * 50,
        b"HTTP/1.1 99999 What\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000,
        drip(b"", b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 400 + b"\r\n\r\n"),
        drip(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20),
    ],
    ids=[
        "silence", "reset", "nothing", "half a head", "no http", "tls on a plain port",
        "no status", "endless head", "slow head", "hints for ever",
    ],
)  # fmt: skip
def test_trouble_is_an_attempt_and_no_error(act):
    with Receiver(act) as receiver:
        attempt = post(receiver.port, timeout_s=0.5)
    assert not attempt.ok
    assert attempt.status is None
    assert attempt.error
    assert attempt.receiver_failed
    assert str(receiver.port) not in attempt.error


def test_a_port_where_nobody_listens_is_an_attempt():
    with socket.socket() as kept:  # bound, so that nobody else gets it
        kept.bind(("127.0.0.1", 0))
        attempt = post(kept.getsockname()[1])
    assert "refused" in attempt.error.lower()


def test_a_slow_body_behind_a_yes_is_a_yes():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with Receiver(drip(head, b"y" * 1000)) as receiver:
        attempt = post(receiver.port, timeout_s=4)
    assert attempt.ok
    assert 0 < len(attempt.response_excerpt) < 1000


def test_a_huge_answer_is_cut():
    with Receiver(flood) as receiver:
        attempt = post(receiver.port)
    assert attempt.ok
    assert len(attempt.response_excerpt) <= 500
    assert MAX_RESPONSE_BYTES == 65_536
    assert receiver.sent_bytes < 32 << 20, "what the sockets hold, and not the whole"


def test_a_body_that_unpacks_to_much_is_not_unpacked():
    packed = answer(200, b"\x1f\x8b" + b"\x00" * 100, Content_Encoding="gzip")
    with Receiver(packed) as receiver:
        assert post(receiver.port).ok
    assert b"accept-encoding: identity" in receiver.requests[0].lower()


def test_hostile_words_of_a_receiver_are_written_out():
    with Receiver(answer(500, b"\x1b[2J\x00\xff<b>\r\nnext")) as receiver:
        said = post(receiver.port).response_excerpt
    assert said.isprintable()
    assert "\\x1b[2J" in said


def test_nothing_is_taken_from_the_environment(monkeypatch):
    with listener() as proxy, Receiver(OK) as receiver:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, address)
        assert post(receiver.port).ok
        assert not was_called(proxy)


def test_a_cookie_is_not_sent_back():
    with Receiver(answer(200, Set_Cookie="a=b; Path=/")) as receiver:
        post(receiver.port)
        post(receiver.port)
    assert len(receiver.requests) == 2
    assert b"cookie" not in receiver.requests[1].lower()


def test_the_next_address_is_tried_when_one_is_dead():
    with Receiver(OK) as receiver:
        guard = Guard(["two.example"], resolve=lambda *_: ["127.0.0.9", "127.0.0.1"])
        request = Request("POST", f"http://two.example:{receiver.port}/", {}, b"")
        assert send(request, guard, timeout_s=60).ok
    assert f"host: two.example:{receiver.port}".encode() in receiver.requests[0].lower()


def test_a_large_message_to_a_receiver_that_does_not_read_ends_in_time():
    with listener() as sock:
        attempt = post(sock.getsockname()[1], body=b"x" * (64 << 20), timeout_s=0.5)
    assert not attempt.ok


# --- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for hook.example, and what trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hook.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("hook.example"), x509.IPAddress(ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return server, ssl.create_default_context(cafile=str(folder / "cert.pem"))


def secure(host, port, guard, trust=None):
    return send(Request("POST", f"https://{host}:{port}/", {}, b"{}"), guard, tls=trust)


def test_tls_is_checked_for_the_name_and_not_the_address(certificate):
    server, trust = certificate
    guard = Guard(["hook.example", "other.example"], resolve=lambda *_: ["127.0.0.1"])
    with Receiver(OK, tls=server) as receiver:
        assert secure("hook.example", receiver.port, guard, trust).ok
        other = secure("other.example", receiver.port, guard, trust)
    assert not other.ok
    assert "certificate" in other.error.lower()
    assert len(receiver.requests) == 1


def test_tls_works_for_an_address(certificate):
    server, trust = certificate
    with Receiver(OK, tls=server) as receiver:
        assert secure("127.0.0.1", receiver.port, HERE, trust).ok


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate):
    server, _ = certificate
    with Receiver(OK, tls=server) as receiver:
        attempt = secure("127.0.0.1", receiver.port, HERE)
    assert not attempt.ok
    assert "certificate" in attempt.error.lower()
    assert receiver.requests == []
