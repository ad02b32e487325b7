"""Answers: JSON with an ETag where asked again is cheap, pages of lists."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote_plus

import orjson
from starlette.requests import Request
from starlette.responses import Response

from triage.render.words.clean import escape_json

Row = TypeVar("Row")

JSON = "application/json"
# What RFC 3986 lets stand in a path and in a query, and what is encoded already.
_PATH: Final = "/%:@!$&'()*+,;=~"
_QUERY: Final = _PATH + "?"
_JSON_FORMS: Final = frozenset({JSON, "application/x-ndjson"})


def make_json_response(
    value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON answer."""
    return Response(
        escape_json(orjson.dumps(value)), status, media_type=JSON, headers=dict(headers or {})
    )


def page(request: Request, items: Sequence[Mapping[str, Any]], next_cursor: str | None) -> Response:
    """One page of a list; its ``Link`` header (RFC 8288) leads to the next one."""
    headers = (
        {}
        if next_cursor is None
        else {"Link": f'<{_make_next_page(request, next_cursor)}>; rel="next"'}
    )
    return make_json_response({"items": items, "next_cursor": next_cursor}, headers=headers)


def page_of_rows(
    request: Request,
    rows: Sequence[Row],
    limit: int,
    cursor_of: Callable[[Row], str],
    item_of: Callable[[Row], Mapping[str, Any]],
) -> Response:
    """The first ``limit`` rows as a page, behind which the next begins where ``rows`` has more."""
    shown = rows[:limit]
    cursor = cursor_of(shown[-1]) if rows[limit:] else None
    return page(request, [item_of(row) for row in shown], cursor)


def _make_next_page(request: Request, cursor: str) -> str:
    """The request's own path and query, as they came, with another cursor.

    Relative, as all addresses of ours are: what name a proxy gives us is not known here.
    """
    path = quote(request.scope["raw_path"].partition(b"?")[0], safe=_PATH)
    query = request.scope.get("query_string", b"").split(b"&")
    names = [unquote_plus(one.partition(b"=")[0].decode("latin-1")) for one in query]
    kept = [
        quote(one, safe=_QUERY)
        for one, name in zip(query, names, strict=True)
        if one and name != "cursor"
    ]
    return f"{path}?{'&'.join([*kept, f'cursor={cursor}'])}"


def make_tagged_response(
    request: Request, body: bytes, media_type: str, *, vary: bool = False
) -> Response:
    """The body with its ETag; 304 without it where the client has these bytes already."""
    if media_type in _JSON_FORMS:
        body = escape_json(body)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if vary:
        headers["Vary"] = "Accept"
    given = {one.strip() for one in ",".join(request.headers.getlist("if-none-match")).split(",")}
    # The comparison is the weak one, as If-None-Match asks for.
    if "*" in given or tag in {one.removeprefix("W/") for one in given}:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)
