"""Problem documents (RFC 9457): every answer that says no.

``type`` is a place on our own ``/docs`` page, so that it can be looked up offline.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Annotated, Final, NotRequired, TypedDict
from urllib.parse import quote

import orjson
from starlette.requests import Request
from starlette.responses import Response

from triage import errors
from triage.domain.wire import Keywords
from triage.errors import Place, Refusal, TriageError

# Refusals that only HTTP knows, beside those of triage.errors.


class ClientGone(TriageError):
    """The client went away before its body ended; nobody is left to be answered."""


class MethodNotAllowed(Refusal):
    """The route is there, the method is not; ``allowed`` are those that are."""

    status = 405
    title = "Method not allowed"

    def __init__(self, detail: str, allowed: tuple[str, ...]) -> None:
        super().__init__(detail, hint="use " + " or ".join(allowed) if allowed else "")
        self.allowed = allowed


class NotAcceptable(Refusal):
    """None of the forms that the client accepts is one that we have."""

    status = 406
    title = "Not acceptable"


class BodyTooSlow(Refusal):
    """The body stopped coming, or comes too slowly; nothing of it was kept."""

    status = 408
    title = "Body too slow"


MEDIA_TYPE: Final = "application/problem+json"
INTERNAL_TITLE: Final = "Internal error"
# Where the refusal itself knows nothing better.
_HINT: Final = "/docs says what this route takes"

KINDS: Final[tuple[type[Refusal], ...]] = (
    errors.BadRequest, errors.NoToken, errors.NotAllowed, errors.NotFound,
    MethodNotAllowed, NotAcceptable, BodyTooSlow, errors.Conflict,
    errors.TooLarge, errors.Unsupported, errors.Unprocessable, errors.TooMany,
    errors.Unavailable, errors.StorageFull,
)  # fmt: skip


ProblemError = TypedDict(
    "ProblemError",
    {
        "pointer": NotRequired[Annotated[str, "JSON pointer into the body."]],
        "parameter": NotRequired[Annotated[str, "Name of a parameter or header."]],
        "in": NotRequired[Annotated[str, Keywords(enum=["query", "path", "header"])]],
        "place": NotRequired[str],
        "message": str,
    },
)
ProblemError.__doc__ = "One wrong place of a request."


class Problem(TypedDict):
    """An RFC 9457 problem document."""

    type: Annotated[str, "Where /docs explains this kind of problem."]
    title: str
    status: int
    detail: str
    instance: str
    errors: list[ProblemError]
    hint: NotRequired[Annotated[str, "What to do next."]]
    request_id: NotRequired[Annotated[str, "Stands in the log of the service."]]


def make_slug(title: str) -> str:
    """``Cannot be processed`` as ``cannot-be-processed``."""
    return title.lower().replace(" ", "-")


def make_problem(
    request: Request,
    status: int,
    title: str,
    detail: str,
    *,
    hint: str = "",
    places: Iterable[Place] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem document about this request."""
    body: Problem = {
        "type": f"/docs#problem-{make_slug(title)}",
        "title": title,
        "status": status,
        "detail": _make_sound(detail),
        "instance": quote(request.scope.get("raw_path", b"") or request.url.path.encode(), "/%"),
        "errors": [_make_error_at(place) for place in places],
    }
    if hint:
        body["hint"] = _make_sound(hint)
    request_id = request.scope.get("triage.request_id")
    if request_id:
        body["request_id"] = request_id
    return Response(
        orjson.dumps(body), status, media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )  # fmt: skip


def _make_error_at(place: Place) -> ProblemError:
    """``body/3/name`` as a JSON pointer, ``query/rank`` as the name of a parameter."""
    source, _, name = _make_sound(place.where).partition("/")
    message = _make_sound(place.message)
    if source == "body":
        return {"pointer": f"#/{name}" if name else "#", "message": message}
    if source in {"query", "path", "header"}:
        return {"parameter": name, "in": source, "message": message}
    return {"place": place.where, "message": message}


def answer_refusal(request: Request, refusal: Refusal) -> Response:
    """The problem document of a refusal, with the headers that belong to its status."""
    headers: dict[str, str] = {}
    if refusal.retry_after_s is not None:
        headers["Retry-After"] = str(refusal.retry_after_s)
    if isinstance(refusal, MethodNotAllowed):
        headers["Allow"] = ", ".join(refusal.allowed)
    if isinstance(refusal, BodyTooSlow):
        # Else the rest of its body would go on dripping, to nobody.
        headers["Connection"] = "close"
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        sent = "authorization" in request.headers
        headers["WWW-Authenticate"] = (
            'Bearer realm="triage", error="invalid_token"' if sent else 'Bearer realm="triage"'
        )
    if refusal.status == HTTPStatus.FORBIDDEN:
        headers["WWW-Authenticate"] = 'Bearer realm="triage", error="insufficient_scope"'
    return make_problem(
        request, refusal.status, refusal.title, refusal.detail,
        hint=refusal.hint or _HINT, places=refusal.places, headers=headers,
    )  # fmt: skip


def _make_sound(text: str) -> str:
    """Text that UTF-8 can hold: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
