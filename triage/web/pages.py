r"""Pages: templates rendered to answers, with every value made visible and escaped.

A template's text is ours, its values are not: log lines and names come from machines that
may be compromised. Each value is made visible (a control character shows as ``\x1b``, a
bidi override as ``\u202e``) and then escaped; only what ``triage.render`` built as markup
passes as it is.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from triage.api.answers.json import make_tagged_response
from triage.api.state import get_state
from triage.render.pictures.markup import Html
from triage.render.words.clean import format_one_line, make_encodable
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


def _make_visible(value: object) -> object:
    """A value as a template prints it: markup of ours as it is, other text made visible."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, Html):
        return Markup(value)  # built by `triage.render.pictures.markup`, which escapes
    if isinstance(value, str) and value:
        # Blanks at the ends keep words apart.
        before, after = " " * value[0].isspace(), " " * value[-1].isspace()
        return f"{before}{format_one_line(value)}{after}"
    return value


@cache
def _build_environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=_make_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(filters.FILTERS)
    made.globals.update(filters.GLOBALS, asset=assets.make_address)
    return made
