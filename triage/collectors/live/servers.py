"""Conversations with servers that may be slow, lie, or send for ever: NCCL RAS, and PyTorch's.

Every step ends at the deadline and at a number of bytes, whatever the other end does. RAS: any
process of a job answers for all of them, by lines of text on a port. It is asked for JSON first, in
text where that is not known (before 2.28), and only at a port that a process of this job holds.

PyTorch's debug server: each rank's worker server answers by HTTP, without its interpreter.
Addresses are in the job's store, which the frontend of rank 0 shows (port 25999), or a unix
socket that torchelastic names. Only a rank of this node is asked, at the port that it holds.
"""

from __future__ import annotations

import html
import http.client
import os
import re
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Union

from triage.collectors.live.folder import ANSWERED, SILENT, TOOL_FAILED, UNREACHABLE, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from triage.collectors.artifact import Deadline
    from triage.collectors.live.processes import RankProcess

_CHUNK = 1 << 16

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
    connection = http.client.HTTPConnection(
        address[0] if isinstance(address, tuple) else "localhost"
    )
    try:
        with connect_to(address, deadline) as line, _cut_at(deadline, line):
            connection.sock = line
            connection.request(method, target, headers={"Connection": "close"})
            return _read_body(connection.getresponse(), deadline, max_bytes)
    except ConnectionRefusedError:
        return Received(b"", "nobody listens there", refused=True)
    except (OSError, http.client.HTTPException) as error:
        if deadline.passed():
            return Received(b"", "no answer in time")
        if isinstance(error, http.client.HTTPException):
            return Received(b"", "what answered is no server of HTTP")
        return Received(b"", error.strerror or str(error), refused=True)


@contextmanager
def _cut_at(deadline: Deadline, line: socket.socket) -> Iterator[None]:
    """Ends a conversation at the deadline: a server that sends byte by byte passes all timeouts."""

    def cut() -> None:
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(deadline.left_s(), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read_body(response: http.client.HTTPResponse, deadline: Deadline, max_bytes: int) -> Received:
    length, data, why = response.length, bytearray(), ""
    try:
        while len(data) <= max_bytes and len(data) != length:
            part = response.read1(_CHUNK)
            if not part:
                break
            data += part
    except (OSError, http.client.HTTPException) as error:
        why = f"the connection broke: {error}"
    if len(data) > max_bytes:
        why = f"more than {max_bytes:,} bytes; the rest was not read"
    elif len(data) != length and deadline.passed():
        why = "did not end in time" if data else "no answer in time"
    elif length is not None and len(data) < length:
        why = f"{len(data):,} of {length:,} bytes came"
    return Received(bytes(data[:max_bytes]), why, response.status)


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


FRONTEND_PORT = 25999
MAX_PAGE, _MAX_ANSWER = 16 << 20, 64 << 20
_HANDLER_S = 6.0
# A row of the page /tcpstore, and of the dump of the same name.
_STORED = re.compile(
    r"debug_server/rank(\d{1,7})\D{1,80}?(https?://([^\s:/'\"<>]{1,255}):(\d{1,5}))"
)


class ServerHandler(NamedTuple):
    """One question of a worker server; ``ending`` is that of the file, ``recorder`` a dump."""

    name: str
    query: str
    ending: str
    recorder: bool = False


HANDLERS = (
    ServerHandler("dump_traceback", "", "txt"),
    ServerHandler("wait_counter_values", "", "json"),
    ServerHandler("dump_nccl_trace_pickle", "?includestacktraces=true", "pickle", recorder=True),
    ServerHandler("fr_trace_json", "", "json", recorder=True),
)
"""What is asked: only what reads. ``torch_profile`` would slow the rank down."""


def parse_ports(page: bytes) -> dict[int, tuple[str, int]]:
    """Host and port of each rank's worker server, as a page or a dump of the store says."""
    text = html.unescape(page.decode("utf-8", "replace"))
    rows = _STORED.findall(text)
    return {int(rank): (host, int(port)) for rank, _, host, port in rows if 0 < int(port) < 65536}


def find_addresses(
    ranks: Sequence[RankProcess],
    stored: Mapping[int, tuple[str, int]],
    ports: Mapping[int, int],
) -> dict[int, Address]:
    """The address of each pid that is asked: its own port on loopback, or its unix socket.

    A port that the store names is asked only where a process of that rank holds it: what the
    store says is not trusted.
    """
    found: dict[int, Address] = {}
    for one in ranks:
        path = (one.seen.environment or {}).get("TORCH_WORKER_SERVER_SOCKET", "")
        if os.path.isabs(path) and os.path.exists(path):
            found[one.seen.pid] = path
            continue
        _, port = stored.get(one.rank if one.rank is not None else -1, ("", 0))
        if port and ports.get(port) == one.seen.pid:
            found[one.seen.pid] = ("localhost", port)
    return found


def ask_debug_server(
    one: RankProcess, address: Address, handler: ServerHandler, deadline: Deadline
) -> tuple[Question, bytes]:
    """What a rank's server answers to one question."""
    target = f"/handler/{handler.name}{handler.query}"
    got = post(address, target, deadline.at_most(_HANDLER_S), _MAX_ANSWER)
    reply, why = ANSWERED, got.why
    if got.refused:
        reply = UNREACHABLE
    elif got.status == 0:
        reply = SILENT if "time" in got.why else TOOL_FAILED
    elif got.status != 200:
        reply, why = TOOL_FAILED, f"status {got.status}"
    elif got.why and not got.data:
        reply = SILENT
    # Half a recorder cannot be read; half a list of stacks can.
    keep = reply == ANSWERED and not (handler.recorder and got.why)
    asked = Question(handler.name, one.rank, one.seen.pid, reply, why)
    return asked, got.data if keep else b""
