"""The outermost layer: what holds for every answer, whichever route gives it.

A request gets its id and its path parts; HEAD is answered as GET without the body; the
answer gets its headers, is counted and stands in the log. What nobody caught becomes a
problem document here, and nothing of it is told to the client.

An answer that comes before the end of the request's body is also read by its sender.

A connection that is closed while bytes of it lie unread is reset, and a reset may overtake
the answer: the sender sees no 503 with its Retry-After but a broken connection, and knocks
again at once. So the last word of such an answer waits until the body has ended, or the
sender has hung up, or enough was read in vain.
"""

import re
import secrets
import time
from typing import Any, Final

import anyio
import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triage.api.answers.problems import INTERNAL_TITLE, ClientGone, make_problem
from triage.api.metrics import Metrics
from triage.api.requests.values import normalize_path, split_target
from triage.domain.patterns import compile_re
from triage.errors import BadRequest, Place

_MOST_BYTES: Final = 8 << 20
_MOST_S: Final = 5.0


class Linger:
    """Wraps an application whose answers do not always wait for the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        ended = False

        async def receive_until_end() -> Message:
            nonlocal ended
            message = await receive()
            ended = ended or not message.get("more_body", False)
            return message

        async def answered(message: Message) -> None:
            last = message["type"] == "http.response.body" and not message.get("more_body", False)
            if not last or ended:
                await send(message)
                return
            await send({**message, "more_body": True})
            await read_in_vain(receive_until_end)
            await send({"type": "http.response.body", "body": b""})

        async def read_in_vain(more: Receive) -> None:
            num_bytes = 0
            with anyio.move_on_after(_MOST_S):
                while not ended and num_bytes < _MOST_BYTES:
                    num_bytes += len((await more()).get("body", b""))

        await self.app(scope, receive_until_end, answered)


def _has_body(scope: Scope) -> bool:
    """Whether a body comes that is sent unasked; whoever expects a 100 waits for the answer."""
    names = dict(scope["headers"])
    if names.get(b"expect", b"").lower() == b"100-continue":
        return False
    return b"transfer-encoding" in names or names.get(b"content-length", b"0") != b"0"


log = structlog.get_logger("triage.api")

_REQUEST_ID: Final = compile_re(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-resource-policy", "same-origin"),
)
_CLIENT_GONE: Final = 499
_QUIET: Final = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestMiddleware:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the lifespan of the application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        inner = _prepare_scope(scope)
        # For what others log on the way; each request is a task, and a context, of its own.
        structlog.contextvars.bind_contextvars(request_id=inner["triage.request_id"])
        answer = Answer(send, inner["triage.request_id"], head=scope["method"] == "HEAD")
        started = time.perf_counter()
        try:
            # A body framed by a length and by chunks, of which a proxy may take the other.
            framed = {name for name, _ in scope["headers"]}
            smuggled = {b"content-length", b"transfer-encoding"} <= framed
            await (_refuse_smuggled if smuggled else self.app)(inner, receive, answer)
        except ClientGone:
            answer.status = answer.status or _CLIENT_GONE
        except Exception:
            log.exception("request failed", request_id=inner["triage.request_id"])
            if answer.status:
                raise
            failed = make_problem(
                Request(inner), 500, INTERNAL_TITLE, "the service failed at this request",
                hint="send it again; its request_id stands in the service's log",
            )  # fmt: skip
            await failed(inner, receive, answer)
        finally:
            self.tell(scope, inner, answer, time.perf_counter() - started)

    def tell(self, scope: Scope, inner: Scope, answer: "Answer", seconds: float) -> None:
        """Count the request and write its line of the log: no query, no token, no body."""
        route = getattr(inner.get("route"), "path", None) or "unmatched"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.answered(route, method, answer.status or 500, seconds)
        client = scope.get("client")
        write = log.debug if inner["path"] in _QUIET and answer.status < 400 else log.info
        write(
            "request answered",
            method=method,
            path=inner["raw_path"].partition(b"?")[0].decode("ascii", "replace")[:512],
            status=answer.status,
            seconds=round(seconds, 4),
            bytes=answer.num_bytes,
            request_id=inner["triage.request_id"],
            token=inner.get("triage.key_id"),
            client=client[0] if client else None,
        )


async def _refuse_smuggled(scope: Scope, receive: Receive, send: Send) -> None:
    """The refusal of a request that ends in two places; what follows it is not read."""
    refused = make_problem(
        Request(scope), 400, BadRequest.title,
        "the request has a Content-Length and comes in chunks",
        hint="send one of the two headers", headers={"Connection": "close"},
        places=(Place("header/Transfer-Encoding", "stands beside Content-Length"),),
    )  # fmt: skip
    await refused(scope, receive, send)


_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Answer:
    """The answer on its way out: gets its headers, loses its body for HEAD, is measured."""

    def __init__(self, send: Send, request_id: str, *, head: bool) -> None:
        self.send = send
        self.request_id = request_id
        self.head = head
        self.status = 0
        self.num_bytes = 0

    async def __call__(self, message: Message) -> None:
        """Pass one message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            more = [*_HEADERS, ("x-request-id", self.request_id), ("cache-control", "no-store")]
            given += [
                (name.encode(), value.encode())
                for name, value in more
                if name.encode() not in names
            ]
            message = {**message, "headers": given}
        elif message["type"] == "http.response.body":
            self.num_bytes += len(message.get("body", b""))
            if self.head:
                message = {**message, "body": b""}
        await self.send(message)


def _prepare_scope(scope: Scope) -> dict[str, Any]:
    """The scope with what the routes need; the server keeps its own."""
    target = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    host, raw = split_target(target)
    headers = scope["headers"]
    if host is not None:  # then it counts, and not the header
        headers = [(b"host", host), *(one for one in headers if one[0] != b"host")]
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    request_id = given.decode("latin-1")
    return {
        **scope,
        "method": "GET" if scope["method"] == "HEAD" else scope["method"],
        "path": normalize_path(raw),
        "raw_path": raw,
        "headers": headers,
        "triage.request_id": request_id
        if _REQUEST_ID.fullmatch(request_id)
        else secrets.token_hex(8),
    }
