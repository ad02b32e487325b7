"""Pages: templates rendered to answers, by the rules of ``triage.render.page.templates``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import Response

from triage.api.answers.json import make_tagged_response
from triage.api.state import get_state
from triage.render.page.templates import make_environment
from triage.render.words.clean import make_encodable
from triage.web import assets, filters
from triage.web.access import get_visitor

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
