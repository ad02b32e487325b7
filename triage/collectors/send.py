"""Attempts to send one bundle, and what each answer means, until the service has it or time is up.

The body is streamed from disk. Each wait on the network is bounded, and so is their
sum: at the deadline the connection is cut, in whatever state it is.

What the service wants of this node once it has looked at what came, files by kind and rank, only
chooses among the files that this collector finds itself for the job: no path is taken from it, and
a file that is on no list of ours is not sent.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import random
import re
import select
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.artifact import DUMP, JOB_LOG, KERNEL_LOG
from triage.collectors.bundle import one_line
from triage.collectors.endpoint import make_bundle_path, wanted_path
from triage.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triage.collectors.artifact import Artifact, Deadline
    from triage.collectors.credentials import Token
    from triage.collectors.endpoint import Endpoint
    from triage.collectors.spool import Entry, Spool


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
    # A problem document as one sentence: what is wrong, and what to do.
    detail, title, hint = (_get_text(fields.get(key)) for key in ("detail", "title", "hint"))
    text = f"{status} {detail or title or one_line(response.reason)}{f' ({hint})' if hint else ''}"
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


_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 10.0


class Delivery:
    """Sends what lies in ``spool`` to ``endpoint``."""

    def __init__(self, spool: Spool, endpoint: Endpoint, token: Token) -> None:
        self.spool = spool
        self.endpoint = endpoint
        self.token = token

    def deliver(
        self, path: str, deadline: Deadline, attempts: int = 1_000_000
    ) -> tuple[Answer, int] | None:
        """Try until ``deadline``; the last answer and the bytes of the body.

        None where another collector is at it, or has sent it already. The file leaves the
        spool after a 2xx, and goes to ``refused`` when it never can be sent.
        """
        with self.spool.opened(path) as entry:
            if entry is None:
                return None
            answer = self._attempts(entry, deadline, attempts)
            if answer.kind == ACCEPTED:
                self.spool.sent(path)
            elif answer.kind == REFUSED:
                kept = self.spool.refuse(path)
                answer = answer._replace(text=f"{answer.text}; kept as {kept}")
            return answer, entry.size_bytes

    def flush(self, deadline: Deadline, skip: tuple[str, ...] = ()) -> list[tuple[Answer, int]]:
        """Send what was left earlier, the oldest first, once each.

        A service that does not take one now is not asked for the next.
        """
        answers = []
        for path in self.spool.pending():
            if deadline.passed():
                break
            if path in skip:
                continue
            answer = self.deliver(path, deadline, attempts=1)
            if answer is None:
                continue
            answers.append(answer)
            if answer[0].kind not in {ACCEPTED, REFUSED}:
                break
        return answers

    def _attempts(self, entry: Entry, deadline: Deadline, attempts: int) -> Answer:
        answer = Answer(AGAIN, "no time was left to send it")
        for turn in range(attempts):
            answer = try_once(entry, self.endpoint, self.token, deadline)
            if answer.kind != AGAIN or turn + 1 == attempts:
                break
            pause_s = wait_s(turn, answer.retry_after_s)
            if pause_s >= deadline.left_s():
                break
            time.sleep(pause_s)
        return answer


def wait_s(
    turn: int, retry_after: float | None, draw: Callable[[float, float], float] = random.uniform
) -> float:
    """Seconds before attempt ``turn + 2``: doubling from half a second to ten.

    A random part keeps apart two thousand nodes that were refused at once. It is never less
    than what the service asked for.
    """
    backoff = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(turn, 16))
    if retry_after is None:
        return draw(backoff / 2, backoff)
    return retry_after + draw(0.0, max(backoff, retry_after / 4))


_KINDS = {"flight_recorder": DUMP, "kernel_log": KERNEL_LOG, "job_log": JOB_LOG}
_MOST_FILES = 64
# A service that is away for a moment; one that knows no such question says 404, or 501.
_AWAY = TRY_LATER | {500, 502, 503, 504}
# Where the service does not say when to ask again, and the shortest pause that it can ask for.
_LATER_S, _SOONEST_S = 10.0, 1.0
# As the service reads the rank of a dump: trace_rank_3, trace_rank_3.json.gz.
_RANK = re.compile(r"([0-9]{1,7})(?:\.[A-Za-z]+)*$", re.ASCII)


class Wanted(NamedTuple):
    """A file that would decide; ``name`` is that of its digest, empty where none came."""

    kind: str
    rank: int | None
    name: str

    def fits(self, artifact: Artifact) -> bool:
        """Whether it is this file of ours."""
        name = artifact.member.rpartition("/")[2]
        if artifact.kind != self.kind:
            return False
        if artifact.kind != DUMP:
            return True
        if self.name:
            return name == self.name
        found = _RANK.search(name)
        return found is not None and int(found[1]) == self.rank


class WantedOfNode(NamedTuple):
    """What is wanted now; ``again_s`` is None where nothing more will be."""

    files: tuple[Wanted, ...]
    again_s: float | None


_NOTHING = WantedOfNode((), None)


def ask(
    endpoint: Endpoint, token: Token, job_id: str, incident: str, node: str, deadline: Deadline
) -> WantedOfNode:
    """Ask once. Nothing is wanted by a service of an earlier release, or one that is away."""
    try:
        with open_connection(endpoint, deadline) as connection:
            path = wanted_path(endpoint.prefix, job_id, incident, node)
            connection.request("GET", path, headers=make_common_headers(token))
            response = connection.getresponse()
            body = response.read(MAX_ANSWER)
    except (OSError, http.client.HTTPException):
        return WantedOfNode((), _LATER_S)
    if response.status in _AWAY:
        wait_s = retry_after_s(response.getheader("Retry-After"))
        return WantedOfNode((), _LATER_S if wait_s is None else max(_SOONEST_S, wait_s))
    if response.status != 200:
        return _NOTHING
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return _NOTHING
    return _read_wanted(answer) if isinstance(answer, dict) else _NOTHING


def _read_wanted(answer: dict[str, object]) -> WantedOfNode:
    rows, again_s = answer.get("wanted"), answer.get("again_s")
    files = [
        one
        for row in (rows if isinstance(rows, list) else [])[:_MOST_FILES]
        if isinstance(row, dict) and (one := _parse_file(row)) is not None
    ]
    if isinstance(again_s, bool) or not isinstance(again_s, (int, float)) or not again_s >= 0:
        return WantedOfNode(tuple(files), None)
    return WantedOfNode(tuple(files), max(_SOONEST_S, min(float(again_s), 3600.0)))


def _parse_file(row: dict[str, object]) -> Wanted | None:
    kind, rank, name = row.get("kind"), row.get("rank"), row.get("filename")
    if not isinstance(kind, str) or kind not in _KINDS:
        return None
    known = rank if isinstance(rank, int) and not isinstance(rank, bool) else None
    return Wanted(_KINDS[kind], known, name.rpartition("/")[2] if isinstance(name, str) else "")
