"""A conversation with a server that may be slow, lie, or send for ever; and that with NCCL RAS.

Every step ends at the deadline and at a number of bytes, whatever the other end does. RAS: any
process of a job answers for all of them, by lines of text on a port. It is asked for JSON first, in
text where that is not known (before 2.28), and only at a port that a process of this job holds.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Union

from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triage.collectors.artifact import Deadline

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


_NAME = "ras"
_DEFAULT = ("localhost", 28028)
# 16,384 ranks in JSON have some 10 MB.
_MAX_BYTES, _MAX_LINE = 64 << 20, 4096
# Seconds that NCCL may wait for ranks that do not answer it.
_COLLECT_S = 5


def find_ras_address(environment: Mapping[str, str]) -> tuple[str, int]:
    """Where the job's processes listen: ``NCCL_RAS_ADDR``, else ``localhost:28028``."""
    host, _, port = environment.get("NCCL_RAS_ADDR", "").rpartition(":")
    host = host.strip("[]") or _DEFAULT[0]
    if not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) < 65536:
        return _DEFAULT
    # A wildcard is where it listens; it is reached by loopback.
    return ("localhost" if host in {"0.0.0.0", "::"} else host), int(port)


def ask_ras_status(address: tuple[str, int], deadline: Deadline) -> tuple[Question, bytes, str]:
    """The report, and the ending of its name: ``json`` or ``txt``; empty bytes without one."""
    got = _ask_server(address, deadline, json=True)
    ending = "json"
    if got.why.startswith("ERROR") or got.why == "no JSON":
        got, ending = _ask_server(address, deadline, json=False), "txt"
    reply = ANSWERED
    if not got.data:
        reply = UNREACHABLE if got.refused else SILENT if "time" in got.why else TOOL_FAILED
    why = f"RAS on {address[0]}:{address[1]}: {got.why}" if got.why else ""
    return Question(_NAME, None, None, reply, why), got.data, ending


def _ask_server(address: tuple[str, int], deadline: Deadline, *, json: bool) -> Received:
    try:
        with connect_to(address, deadline) as line:
            for command in ("CLIENT PROTOCOL 2", f"TIMEOUT {_COLLECT_S}"):
                line.sendall(f"{command}\n".encode())
                answer = _send_line(line, deadline)
                if answer.why:
                    return answer
                if answer.data.startswith(b"ERROR") and command.startswith("CLIENT"):
                    return Received(b"", "it speaks another protocol than RAS")
            if json:
                line.sendall(b"SET FORMAT json\n")
                answer = _send_line(line, deadline)
                if not answer.data.startswith(b"OK"):
                    return Received(b"", answer.why or "no JSON")
            line.sendall(b"VERBOSE STATUS\n")
            return _report(receive(line, deadline, _MAX_BYTES))
    except TimeoutError:
        return Received(b"", "no answer in time")
    except OSError as error:
        return Received(b"", error.strerror or str(error), refused=True)


def _send_line(line: socket.socket, deadline: Deadline) -> Received:
    got = receive(line, deadline, _MAX_LINE, lambda data: data.endswith(b"\n"))
    if not got.data.endswith(b"\n") and not got.why:
        return Received(b"", "closed the connection")
    return got


def _report(got: Received) -> Received:
    report = got.data.lstrip()
    if report.startswith(b"ERROR"):
        return Received(b"", report.split(b"\n", 1)[0].decode("utf-8", "replace")[:200])
    return got if got.data else Received(b"", got.why or "an empty report")
