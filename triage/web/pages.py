"""Pages: templates rendered to answers, by the rules of ``triage.render.page.templates``.

A refusal is a page too, and a visitor who is not logged in goes to log in.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from triage.api.answers.json import make_tagged_response
from triage.api.answers.problems import answer_refusal
from triage.api.state import get_state
from triage.errors import NotFound, NoToken, Refusal, Unprocessable
from triage.render.page.templates import make_environment
from triage.render.words.clean import make_encodable
from triage.web import assets, filters
from triage.web.access import get_visitor
from triage.web.requests import Moved

HTML: Final = "text/html; charset=utf-8"
_FOLDER: Final = Path(__file__).parent / "templates"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    # Without it, browsers send our own forms with an origin of `null`.
    "Referrer-Policy": "same-origin",
    "Vary": "Cookie",
}


def page(
    request: Request,
    template: str,
    status: int = 200,
    *,
    headers: Mapping[str, str] | None = None,
    tag: str | None = None,
    **values: Any,  # noqa: ANN401 - what the template shows
) -> Response:
    """The page; 304 without it where the browser has it already.

    ``tag`` is the ETag of a part that asks for itself again; others are known by their bytes.
    """
    if tag is not None and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag, **_HEADERS})
    shared = {"visitor": get_visitor(request), "open_access": get_state(request).open_access}
    text = _build_environment().get_template(template).render(request=request, **shared, **values)
    body = make_encodable(text).encode()
    if status == 200 and request.method == "GET":
        answer = make_tagged_response(request, body, HTML)
    else:
        answer = Response(body, status, media_type=HTML, headers={"Cache-Control": "no-store"})
    answer.headers.update({**_HEADERS, **({} if tag is None else {"ETag": tag}), **(headers or {})})
    return answer


@cache
def _build_environment() -> Environment:
    made = make_environment(_FOLDER, max_cells=None)
    made.filters.update(filters.FILTERS)
    made.globals.update(filters.GLOBALS, asset=assets.make_address)
    return made


_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose refusals people can read; scripts that ask with a token get the problem."""

    def get_route_handler(self) -> _Handler:
        """The handler with its refusals caught."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                why = f"{first['loc'][-1]}: {first['msg'].removeprefix('Value error, ')}"
                return render_refusal(
                    request, Unprocessable(why, hint="go back and change what the address says")
                )
            except Refusal as refusal:
                return render_refusal(request, refusal)

        return handle


def page_router(prefix: str, *dependencies: Callable[[Request], Awaitable[None]]) -> APIRouter:
    """A router of pages below ``prefix``; ``dependencies`` run before each of them."""
    return APIRouter(
        prefix=prefix,
        route_class=PageRoute,
        include_in_schema=False,
        dependencies=[Depends(dependency) for dependency in dependencies],
    )


def render_refusal(request: Request, refusal: Refusal) -> Response:
    """The page of a refusal; the way to the login where nobody is logged in."""
    if isinstance(refusal, Moved):
        return RedirectResponse(refusal.where, 303)
    if "authorization" in request.headers:
        return answer_refusal(request, refusal)
    if isinstance(refusal, NoToken):
        return _redirect_to_login(request)
    wait_s = refusal.retry_after_s
    return page(
        request,
        "error.html",
        refusal.status,
        headers={} if wait_s is None else {"Retry-After": str(wait_s)},
        title=refusal.title,
        detail=refusal.detail,
        # People on a page do not know the paths of the API.
        hint="the list of incidents names those that there are"
        if isinstance(refusal, NotFound) and "/v1/" in refusal.hint
        else refusal.hint,
    )


def _redirect_to_login(request: Request) -> Response:
    if "hx-request" in request.headers:  # a part of a page: the whole of it has to go
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    raw = request.scope.get("raw_path", b"/").decode("ascii", "replace")
    query = request.scope.get("query_string", b"").decode("ascii", "replace")
    back = f"{raw}?{query}" if query else raw
    where = f"/login?next={quote(back, safe='')}" if request.method == "GET" else "/login"
    return RedirectResponse(where, 303, headers={"Cache-Control": "no-store"})
