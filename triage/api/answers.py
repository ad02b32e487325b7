"""Answers: JSON with an ETag where asked again is cheap, pages of lists."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["JSON", "as_json", "page", "tagged"]

JSON = "application/json"


def as_json(
    value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(value), status, media_type=JSON, headers=dict(headers or {}))


def page(items: Sequence[Mapping[str, Any]], next_cursor: str | None) -> Response:
    """One page of a list."""
    return as_json({"items": items, "next_cursor": next_cursor})


def tagged(request: Request, body: bytes, media_type: str, *, vary: bool = False) -> Response:
    """The body with its ETag; 304 without it where the client has these bytes already."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if vary:
        headers["Vary"] = "Accept"
    if matches(request.headers.getlist("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def matches(headers: Sequence[str], tag: str) -> bool:
    given = [one.strip() for header in headers for one in header.split(",")]
    # The comparison is the weak one, as If-None-Match asks for.
    return "*" in given or tag in {one.removeprefix("W/") for one in given}
