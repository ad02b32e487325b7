"""Receivers on loopback: one that only listens, one that answers as it is told."""

import select
import socket
import struct
import threading
import time
from contextlib import contextmanager, suppress

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answer(status, body=b"", **headers):
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextmanager
def listener(host="127.0.0.1"):
    """A port that takes connections and never says a word."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.bind((host, 0))
        sock.listen(64)
        yield sock


def has_loopback_v6():
    try:
        with listener("::1"):
            return True
    except OSError:
        return False


def was_called(sock):
    """Whether a connection waits: the kernel has taken it before anybody accepts it."""
    return bool(select.select([sock], [], [], 0)[0])


class Receiver:
    """Serves one connection after the other; ``acts`` says how, the last one for ever.

    An act is the bytes to answer with, or a function of the connection. ``requests`` are
    the bytes that came.
    """

    def __init__(self, *acts, tls=None):
        self.requests = []
        self.sent_bytes = 0
        self._acts = acts
        self._tls = tls
        self._stop = threading.Event()
        self._sock = socket.create_server(("127.0.0.1", 0))
        self._sock.settimeout(0.05)
        self.port = self._sock.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._sock.close()

    def _serve(self):
        served = 0
        while not self._stop.is_set():
            try:
                connection, _ = self._sock.accept()
            except TimeoutError:
                continue
            act = self._acts[min(served, len(self._acts) - 1)]
            served += 1
            with connection:
                connection.settimeout(60)
                with suppress(OSError):
                    self._one(connection, act)

    def _one(self, connection, act):
        if self._tls is not None:
            with self._tls.wrap_socket(connection, server_side=True) as wrapped:
                self._one_plain(wrapped, act)
        else:
            self._one_plain(connection, act)

    def _one_plain(self, connection, act):
        self.requests.append(read_request(connection))
        if callable(act):
            act(self, connection)
        else:
            connection.sendall(act)


def read_request(connection):
    got = b""
    while b"\r\n\r\n" not in got:
        part = connection.recv(65_536)
        if not part:
            return got
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields.get(b"content-length", b"0")):
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def silence(receiver, connection):
    """No answer, until the caller hangs up."""
    connection.recv(1)


def reset(receiver, connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drip(head, text):
    """``head`` at once, then ``text`` byte by byte: seconds in all, each wait short."""

    def act(receiver, connection):
        connection.sendall(head)
        for byte in text:
            time.sleep(0.02)
            connection.sendall(bytes([byte]))

    return act


def flood(receiver, connection):
    """256 MiB, as far as they are taken."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 268435456\r\n\r\n")
    for _ in range(256):
        connection.sendall(b"A" * (1 << 20))
        receiver.sent_bytes += 1 << 20
