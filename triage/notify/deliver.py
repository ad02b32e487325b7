"""Deliver: one try to send one request, and what became of it.

Whatever the receiver does, the try ends within its time and with an :class:`Attempt`: only
2xx is success, a redirect is not followed, nothing is taken from the environment (proxies)
or from an earlier answer (cookies), and at most 64 KiB of the answer are read.

When a message that did not arrive is tried again is decided here, without a clock. A delivery has
its own times: at once, then after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 6 h, then daily for three
days. A receiver that comes back must not wait for them, so its oldest pending delivery is tried
every 45 s, and when one arrives all the others are due.
"""

import hashlib
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

import httpcore2
import httpx2

from triage.errors import Unprocessable
from triage.notify.guard import Checked, Guard
from triage.notify.message import Request
from triage.render.words.clean import format_one_line
from triage.version import __version__

# ruff: noqa: ARG002 - the signatures are those of httpcore2


# Pinned: HTTP/1.1 to addresses that were looked at before, with one end for everything.
#
# The client asks for a host name and gets a connection to one of the given addresses, while
# TLS and the Host header keep the name. Every wait on the socket ends at ``end`` (monotonic
# seconds), so a receiver that sends one byte a second gains nothing.

_MOST_TRIED = 3
_CONNECT_S = 5.0

_SocketOptions = Iterable[
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
]


def open_pinned_pool(
    addresses: tuple[str, ...], end: float, tls: ssl.SSLContext
) -> httpcore2.ConnectionPool:
    """A client for one request to ``addresses``, tried in turn until ``end``."""
    return httpcore2.ConnectionPool(
        ssl_context=tls,
        max_connections=1,
        max_keepalive_connections=0,
        network_backend=_Backend(addresses, end),
    )


class _Backend(httpcore2.NetworkBackend):
    """Connects to the given addresses, whatever host is asked for."""

    def __init__(self, addresses: tuple[str, ...], end: float) -> None:
        self._addresses = addresses[:_MOST_TRIED]
        self._end = end
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _SocketOptions | None = None,
    ) -> httpcore2.NetworkStream:
        failed: Exception = httpcore2.ConnectError("there is no address")
        for address in self._addresses:
            try:
                stream = self._sockets.connect_tcp(
                    address,
                    port,
                    min(_measure_time_left(self._end), _CONNECT_S),
                    None,
                    socket_options,
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
            else:
                return _Stream(stream, self._end)
        raise failed

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: _SocketOptions | None = None
    ) -> httpcore2.NetworkStream:
        raise httpcore2.ConnectError("a local socket is no receiver")


class _Stream(httpcore2.NetworkStream):
    """A stream whose waits end in time; timeouts of its own it does not need."""

    def __init__(self, stream: httpcore2.NetworkStream, end: float) -> None:
        self._stream = stream
        self._end = end

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _measure_time_left(self._end))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # A piece at a time, so that a receiver that reads one byte a second gains nothing.
        for start in range(0, len(buffer), 16_384):
            self._stream.write(buffer[start : start + 16_384], _measure_time_left(self._end))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _measure_time_left(self._end)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._end)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as its base class has it
        return self._stream.get_extra_info(info)


def _measure_time_left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time for the whole request is over")
    return left


MAX_RESPONSE_BYTES = 64 << 10
_EXCERPT_CHARS = 500
_USER_AGENT = f"nccl-triage/{__version__}"

# They say that this body is wrong, not that the receiver is away.
_ABOUT_THE_BODY = frozenset({400, 413, 415, 422})


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one try.

    ``status`` is None where no answer came; ``error`` is then, and for every failure, a
    clause without the address. ``gone``: the receiver wants no more (410).
    ``retry_after_s`` is what it asked for; ``response_excerpt`` its words, made safe.
    """

    ok: bool
    status: int | None
    error: str | None
    retry_after_s: float | None
    gone: bool
    latency_ms: int
    response_excerpt: str

    @property
    def receiver_failed(self) -> bool:
        """The receiver is away or refuses all, so it is worth a probe for all that waits."""
        return not self.ok and self.status not in _ABOUT_THE_BODY


def send(
    request: Request,
    guard: Guard,
    *,
    timeout_s: float = 15,
    tls: ssl.SSLContext | None = None,
) -> Attempt:
    """Send ``request`` once, to an address that ``guard`` has just looked at.

    ``timeout_s`` bounds connecting, sending and reading together; the name is resolved
    before, within the guard's own five seconds. ``tls`` is the system's trust by default.
    Never raises for what the network, the name or the receiver does.
    """
    began = time.monotonic()
    try:
        checked = guard.check(request.url)
    except Unprocessable as refused:
        return _make_failed_attempt(refused.detail, began)
    try:
        return _send_once(request, checked, began, timeout_s, tls or _load_system_trust())
    except (httpcore2.TimeoutException, TimeoutError):
        return _make_failed_attempt(f"no complete answer within {timeout_s:g} s", began)
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
        # The library's words: ``connection refused``, without an address.
        why = format_one_line(str(error)) or type(error).__name__
        return _make_failed_attempt(why[:300], began)


def _send_once(
    request: Request, checked: Checked, began: float, timeout_s: float, tls: ssl.SSLContext
) -> Attempt:
    end = time.monotonic() + timeout_s
    url = checked.url
    headers = [
        ("host", url.host_header),
        *request.headers.items(),
        ("user-agent", _USER_AGENT),
        ("accept-encoding", "identity"),  # an answer is not worth unpacking
        ("connection", "close"),
    ]
    # The parts and not the text: no other parser reads the address again.
    address = httpcore2.URL(
        scheme=url.scheme, host=str(url.host), port=url.explicit_port, target=url.target
    )
    with (
        open_pinned_pool(checked.addresses, end, tls) as client,
        client.stream(request.method, address, headers=headers, content=request.body) as answer,
    ):
        return _judge_answer(answer, began, _read(answer))


def _read(answer: httpcore2.Response) -> bytes:
    """The first bytes of the body; what breaks off after the status changes nothing."""
    kept = bytearray()
    try:
        for part in answer.iter_stream():
            kept += part
            if len(kept) >= MAX_RESPONSE_BYTES:
                break
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError):
        pass
    return bytes(kept[:MAX_RESPONSE_BYTES])


def _judge_answer(answer: httpcore2.Response, began: float, body: bytes) -> Attempt:
    status = answer.status
    ok = 200 <= status < 300
    error = None
    if 300 <= status < 400:
        error = f"answered {status}: redirects are not followed"
    elif not ok:
        error = f"answered {status}"
    return Attempt(
        ok=ok,
        status=status,
        error=error,
        retry_after_s=None if ok else _retry_after_s(answer),
        gone=status == 410,
        latency_ms=_measure_elapsed_ms(began),
        response_excerpt=format_one_line(body[:2_048].decode("utf-8", "replace"))[:_EXCERPT_CHARS],
    )


def _make_failed_attempt(why: str, began: float) -> Attempt:
    return Attempt(False, None, why, None, False, _measure_elapsed_ms(began), "")


def _retry_after_s(answer: httpcore2.Response) -> float | None:
    """Seconds from now, of either form that HTTP allows; None for any other."""
    values = [value for name, value in answer.headers if name.lower() == b"retry-after"]
    if not values:
        return None
    text = values[0].decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:12]), 10**9))
    try:
        at = parsedate_to_datetime(text[:64])
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _measure_elapsed_ms(began: float) -> int:
    return int((time.monotonic() - began) * 1000)


@lru_cache(maxsize=1)
def _load_system_trust() -> ssl.SSLContext:
    # Made once: loading the trusted certificates takes longer than most requests.
    return httpx2.create_ssl_context()


DELAYS_S = (0, 5, 30, 120, 600, 1_800, 7_200, 21_600, 86_400, 86_400, 86_400)
"""Seconds before the first try, and from each try to the one after it."""

PROBE_EVERY_S = 45
"""At most this long between tries of a receiver that fails: with 15 s for the try itself,
one that is back is served within a minute."""

_MAX_RETRY_AFTER_S = 86_400

# The last regular try is 73 to 89 h after the first, the one after it would be 94 h at least.
_GIVE_UP_AFTER = timedelta(hours=90)
_JITTER = 0.1


def schedule_next_try(
    attempts: int,
    now: datetime,
    retry_after_s: float | None,
    first_at: datetime,
    *,
    message_id: str = "",
) -> datetime | None:
    """When to try again after ``attempts`` tries, the last of them ``now``; None: given up.

    ``first_at`` is when the message was to be sent first. Giving up goes by that time and
    not by a count, as probes of a failing receiver are tries too. Each delay is off by up
    to a tenth, by ``message_id`` and always the same, so that the messages of one outage
    do not come back at once. ``retry_after_s`` is what the receiver asked for, heeded up
    to a day.
    """
    if attempts <= 0:
        delay_s = 0.0
    else:
        digest = hashlib.sha256(f"{message_id}/{attempts}".encode()).digest()
        jitter = _JITTER * (int.from_bytes(digest[:4]) / 0x7FFFFFFF - 1)
        delay_s = DELAYS_S[min(attempts, len(DELAYS_S) - 1)] * (1 + jitter)
    if retry_after_s is not None:
        delay_s = max(delay_s, min(retry_after_s, _MAX_RETRY_AFTER_S))
    at = now + timedelta(seconds=delay_s)
    return at if at <= first_at + _GIVE_UP_AFTER else None


@dataclass(frozen=True, slots=True)
class ReceiverState:
    """How the receiver of one subscription does, over all its deliveries.

    ``failing`` after a try that failed, until one succeeds. ``tried_at`` is when the last
    try began. ``not_before`` is when the receiver asked to be called again (Retry-After), None
    when it did not.
    """

    failing: bool = False
    tried_at: datetime | None = None
    not_before: datetime | None = None


def probe_at(receiver: ReceiverState, now: datetime) -> datetime:
    """When the oldest pending delivery of a failing receiver is tried at the latest."""
    at = now
    if receiver.tried_at is not None:
        # A clock that was set back must not put the probe off.
        at = min(receiver.tried_at, now) + timedelta(seconds=PROBE_EVERY_S)
    return max(at, _bound_not_before(receiver, now))


def compute_due_times(
    next_at: Iterable[datetime], receiver: ReceiverState, now: datetime
) -> list[datetime]:
    """When each pending delivery of a receiver is due, by when it is tried next by its own times.

    They come oldest first: of a failing receiver the first one is the probe.
    """
    due = list(next_at)
    if due and receiver.failing:
        due[0] = min(due[0], probe_at(receiver, now))
    not_before = _bound_not_before(receiver, now)
    return [max(at, not_before) for at in due]


def _bound_not_before(receiver: ReceiverState, now: datetime) -> datetime:
    if receiver.not_before is None:
        return datetime.min.replace(tzinfo=now.tzinfo)
    return min(receiver.not_before, now + timedelta(seconds=_MAX_RETRY_AFTER_S))
