"""A conversation with a server that may be slow, lie, or send for ever.

Every step ends at the deadline and at a number of bytes, whatever the other end does.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Union

if TYPE_CHECKING:
    from collections.abc import Callable

    from triage.collectors.deadline import Deadline

_CHUNK = 1 << 16
# Of a head of HTTP, and of one number in it.
_MAX_HEAD, _MAX_DIGITS = 1 << 16, 12

# Host and port, or the path of a unix socket.
Address = Union["tuple[str, int]", str]


class Received(NamedTuple):
    """``data`` came; ``why`` says what is wrong, or is empty. ``status`` is that of HTTP.

    ``refused`` is whether nobody listens there.
    """

    data: bytes
    why: str = ""
    status: int = 0
    refused: bool = False


def connect_to(address: Address, deadline: Deadline) -> socket.socket:
    """A connection. Raises OSError, also where time is up."""
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout=max(0.01, deadline.left_s()))
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(max(0.01, deadline.left_s()))
        line.connect(address)
    except OSError:
        line.close()
        raise
    return line


def receive(
    line: socket.socket,
    deadline: Deadline,
    max_bytes: int,
    complete: Callable[[bytes], bool] | None = None,
) -> Received:
    """What comes until the other end closes, or ``complete`` says that it is all there."""
    data = bytearray()
    while len(data) < max_bytes:
        if deadline.passed():
            return Received(bytes(data), "did not end in time")
        line.settimeout(max(0.01, deadline.left_s()))
        try:
            part = line.recv(min(_CHUNK, max_bytes - len(data)))
        except TimeoutError:
            return Received(bytes(data), "did not end in time" if data else "no answer in time")
        except OSError as error:
            return Received(bytes(data), f"the connection broke: {error.strerror or error}")
        if not part:
            return Received(bytes(data))
        data += part
        if complete is not None and complete(bytes(data)):
            return Received(bytes(data))
    return Received(bytes(data), f"more than {max_bytes:,} bytes; the rest was not read")


def post(
    address: Address, target: str, deadline: Deadline, max_bytes: int, method: str = "POST"
) -> Received:
    """The body that a server of HTTP answers; its ``status`` is 0 where it is none."""
    host = address[0] if isinstance(address, tuple) else "localhost"
    host = f"[{host}]" if ":" in host else host
    head = f"{method} {target} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n"
    head += "Content-Length: 0\r\n\r\n" if method == "POST" else "\r\n"
    try:
        with connect_to(address, deadline) as line:
            line.sendall(head.encode("ascii", "replace"))
            came = receive(line, deadline, _MAX_HEAD + max_bytes, _is_whole)
    except TimeoutError:
        return Received(b"", "no answer in time")
    except ConnectionRefusedError:
        return Received(b"", "nobody listens there", refused=True)
    except OSError as error:
        return Received(b"", error.strerror or str(error), refused=True)
    return _get_body(came, max_bytes)


def _get_body(came: Received, max_bytes: int) -> Received:
    head, found, body = came.data.partition(b"\r\n\r\n")
    words = head.split(b"\r\n", 1)[0].split(b" ", 2)
    status = words[1] if len(words) > 1 and words[0].startswith(b"HTTP/1.") else b""
    if not found or not (status.isdigit() and len(status) == 3):
        return Received(b"", came.why or "what answered is no server of HTTP")
    if b"transfer-encoding: chunked" in head.lower():
        body = _join_chunks(body)
    length = _parse_length(head)
    why = came.why
    if not why and length is not None and len(body) < length:
        why = f"{len(body):,} of {length:,} bytes came"
    if len(body) > max_bytes:
        body, why = body[:max_bytes], f"more than {max_bytes:,} bytes; the rest was not read"
    return Received(body, why, int(status))


def _is_whole(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    length = _parse_length(head) if found else None
    return length is not None and len(body) >= length


def _parse_length(head: bytes) -> int | None:
    for row in head.split(b"\r\n")[1:]:
        name, _, value = row.partition(b":")
        digits = value.strip()
        if name.strip().lower() == b"content-length" and digits.isdigit():
            return int(digits) if len(digits) <= _MAX_DIGITS else None
    return None


def _join_chunks(body: bytes) -> bytes:
    parts, at = [], 0
    while at < len(body):
        end = body.find(b"\r\n", at)
        size = body[at:end].partition(b";")[0].strip() if end >= 0 else b""
        with suppress(ValueError):
            number = int(size, 16) if len(size) <= _MAX_DIGITS else 0
            if number <= 0:
                break
            parts.append(body[end + 2 : end + 2 + number])
            at = end + 4 + number
            continue
        break
    return b"".join(parts)
