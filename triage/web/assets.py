"""Style sheets and scripts: our own, and those of others with licence, version and hash.

An asset's address carries its hash, so that a browser keeps it for good and still has the
new one after an upgrade. The reports' own style sheets are served as they are, so that the
pages and ``--format html`` never differ in a colour.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from triage.errors import NotFound
from triage.render.page.templates import CSS

_FOLDER: Final = Path(__file__).parent / "static"
_CSS_TYPE: Final = "text/css; charset=utf-8"
_JS_TYPE: Final = "text/javascript; charset=utf-8"
FILES: Final = {
    "report.css": _CSS_TYPE,
    "fleet.css": _CSS_TYPE,
    "page.css": _CSS_TYPE,
    "page.js": _JS_TYPE,
    "grid.js": _JS_TYPE,
    "print.css": _CSS_TYPE,
    "live.js": _JS_TYPE,
    "times.js": _JS_TYPE,
    "upload.js": _JS_TYPE,
    "htmx.js": _JS_TYPE,
    "icon.svg": "image/svg+xml",
}
_SHEETS: Final = {"report.css": CSS}
_ELSEWHERE: Final = {"htmx.js": "vendor/htmx.min.js"}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


def add_sheets(sheets: Mapping[str, str]) -> None:
    """Serve these style sheets too; their names stand in :data:`FILES`."""
    _SHEETS.update(sheets)


@cache
def read_content(name: str) -> bytes:
    """The bytes of an asset."""
    if name in _SHEETS:
        return _SHEETS[name].encode()
    return (_FOLDER / _ELSEWHERE.get(name, name)).read_bytes()


@cache
def _compute_version(name: str) -> str:
    return hashlib.sha256(read_content(name)).hexdigest()[:16]


def make_address(name: str) -> str:
    """Where pages load it from."""
    return f"/static/{name}?v={_compute_version(name)}"


def asset(request: Request, name: str) -> Response:
    """One file; to be kept for good where it was asked for by its version."""
    if name not in FILES:
        raise NotFound("there is no such file")
    kept = _FOR_GOOD if request.query_params.get("v") == _compute_version(name) else "no-cache"
    headers = {
        "Cache-Control": kept,
        "Vary": "Accept-Encoding",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(_compress_content(name), media_type=FILES[name], headers=headers)
    return Response(read_content(name), media_type=FILES[name], headers=headers)


@cache
def _compress_content(name: str) -> bytes:
    """The bytes as gzip. Pages are never compressed: they hold the CSRF token of a session."""
    return gzip.compress(read_content(name), mtime=0)
