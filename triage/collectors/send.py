"""One attempt to send one bundle, and what its answer means.

The body is streamed from disk. Each wait on the network is bounded, and so is their
sum: at the deadline the connection is cut, in whatever state it is.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import select
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.bundle import one_line
from triage.collectors.endpoint import make_bundle_path
from triage.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triage.collectors.credentials import Token
    from triage.collectors.deadline import Deadline
    from triage.collectors.endpoint import Endpoint
    from triage.collectors.spool import Entry

ACCEPTED = "accepted"  # the service has it
AGAIN = "again"  # the same request may succeed later
MEND = "mend"  # it may succeed once a person has mended the token or the address
REFUSED = "refused"  # it never succeeds

_CHUNK = 1 << 18
MAX_ANSWER = 1 << 20
_CONNECT_S = 10.0
# The longest wait for a turn, while all nodes of a large job send.
_QUIET_S = 120.0
TRY_LATER = frozenset({408, 425, 429})
_TO_BE_MENDED = frozenset({401, 403})


class Answer(NamedTuple):
    """``kind`` is one of the four above; ``text`` says it to a person.

    ``retry_after_s`` is None where the service named none. ``refused`` are the members
    that were not taken, with why.
    """

    kind: str
    text: str = ""
    incident: str = ""
    retry_after_s: float | None = None
    refused: tuple[tuple[str, str], ...] = ()


def try_once(entry: Entry, endpoint: Endpoint, token: Token, deadline: Deadline) -> Answer:
    """Send ``entry`` once. Never raises for what the network or the service does."""
    if deadline.passed():
        return Answer(AGAIN, "no time was left to send it")
    try:
        with open_connection(endpoint, deadline) as connection:
            whole = _post(entry, connection, endpoint, token)
            answer = _read(connection, whole)
        if answer.kind != ACCEPTED and deadline.passed():
            # Whatever was read was cut by us.
            raise TimeoutError
        return answer
    except (OSError, http.client.HTTPException) as error:
        why = "the deadline has passed" if deadline.passed() else _explain_error(error)
        return Answer(AGAIN, f"{endpoint.host}:{endpoint.port}: {why}")


@contextmanager
def open_connection(endpoint: Endpoint, deadline: Deadline) -> Iterator[http.client.HTTPConnection]:
    """An open connection, which is cut at the deadline. Raises OSError."""
    connection = endpoint.connect(min(_CONNECT_S, deadline.left_s()))
    cutter: threading.Timer | None = None
    try:
        connection.connect()
        connection.sock.settimeout(max(0.05, min(_QUIET_S, deadline.left_s())))
        cutter = threading.Timer(deadline.left_s(), _cut, [connection.sock])
        cutter.daemon = True
        cutter.start()
        yield connection
    finally:
        if cutter is not None:
            cutter.cancel()
        connection.close()


def make_common_headers(token: Token) -> dict[str, str]:
    """What each request says of itself and of who asks."""
    headers = {
        "Accept": "application/json, application/problem+json",
        "User-Agent": f"nccl-triage-collect/{__version__}",
    }
    if token.value:
        headers["Authorization"] = f"Bearer {token.value}"
    return headers


def _post(
    entry: Entry, connection: http.client.HTTPConnection, endpoint: Endpoint, token: Token
) -> bool:
    """Send the request; whether all of its body went out before an answer came."""
    label = entry.label
    connection.putrequest("POST", make_bundle_path(endpoint.prefix, label))
    connection.putheader("Content-Type", "application/x-tar")
    connection.putheader("Content-Length", str(entry.size_bytes))
    if label.encoding:
        connection.putheader("Content-Encoding", label.encoding)
    for name, value in make_common_headers(token).items():
        connection.putheader(name, value)
    connection.endheaders()
    entry.file.seek(entry.offset)
    left = entry.size_bytes
    while left > 0:
        # A refusal comes before the body is read. Under TLS a ticket looks the same.
        if endpoint.tls is None and select.select([connection.sock], [], [], 0)[0]:
            return False
        part = entry.file.read(min(_CHUNK, left))
        if not part:
            raise OSError("the spooled bundle is shorter than it was")
        try:
            connection.sock.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            # The service closed after its answer; the answer may still be there.
            return False
        left -= len(part)
    return True


def _read(connection: http.client.HTTPConnection, whole: bool) -> Answer:
    response = connection.getresponse()
    body = response.read(MAX_ANSWER)
    status = response.status
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    fields = data if isinstance(data, dict) else {}
    if 200 <= status < 300:
        if not whole:
            return Answer(AGAIN, f"{status} before the whole body was sent")
        incident = _get_text(fields.get("incident_id"))
        if not incident:
            # A login page of a proxy says 200 too, and so does an answer that was cut.
            return Answer(MEND, f"{status}, but not from the service; is --url right?")
        return Answer(ACCEPTED, "", incident, refused=_list_refused(fields))
    text = _describe_problem(status, response.reason, fields)
    if status in TRY_LATER or status >= 500:
        wait_s = retry_after_s(response.getheader("Retry-After"))
        return Answer(AGAIN, text, retry_after_s=wait_s)
    if 300 <= status < 400:
        where = one_line(response.getheader("Location") or "elsewhere")
        return Answer(MEND, f"{status}: the service is at {where}; give that as --url")
    return Answer(MEND if status in _TO_BE_MENDED else REFUSED, text)


def retry_after_s(text: str | None) -> float | None:
    """The header in seconds from now, whether it gives seconds or a date."""
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), 86_400.0)
    with suppress(TypeError, ValueError, OverflowError):
        at = email.utils.parsedate_to_datetime(text).timestamp()
        return min(max(0.0, at - time.time()), 86_400.0)
    return None


def _describe_problem(status: int, reason: str, answer: dict[str, object]) -> str:
    """A problem document as one sentence: what is wrong, and what to do."""
    detail = _get_text(answer.get("detail")) or _get_text(answer.get("title")) or one_line(reason)
    hint = _get_text(answer.get("hint"))
    return f"{status} {detail}" + (f" ({hint})" if hint else "")


def _list_refused(answer: dict[str, object]) -> tuple[tuple[str, str], ...]:
    """Members that the service did not take; those it took are not worth a word."""
    rows = answer.get("artifacts")
    return tuple(
        (_get_text(row.get("member")), _get_text(row.get("reason")))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("status"), int) and row["status"] >= 400
    )


def _get_text(value: object) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _explain_error(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return f"the name cannot be resolved: {error.strerror}"
    # A class of its own before Python 3.10.
    if isinstance(error, TimeoutError) or str(error) == "timed out":
        return "does not answer"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return one_line(str(text))


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
