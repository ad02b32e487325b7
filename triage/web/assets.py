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
from triage.render.page.style import CSS

__all__ = ["FILES", "add_sheets", "address", "asset", "content_of"]

FOLDER: Final = Path(__file__).parent / "static"
CSS_TYPE: Final = "text/css; charset=utf-8"
JS_TYPE: Final = "text/javascript; charset=utf-8"
FILES: Final = {
    "report.css": CSS_TYPE,
    "fleet.css": CSS_TYPE,
    "page.css": CSS_TYPE,
    "page.js": JS_TYPE,
    "grid.js": JS_TYPE,
    "print.css": CSS_TYPE,
    "live.js": JS_TYPE,
    "times.js": JS_TYPE,
    "upload.js": JS_TYPE,
    "htmx.js": JS_TYPE,
    "icon.svg": "image/svg+xml",
}
SHEETS: Final = {"report.css": CSS}
ELSEWHERE: Final = {"htmx.js": "vendor/htmx.min.js"}
FOR_GOOD: Final = "public, max-age=31536000, immutable"


def add_sheets(sheets: Mapping[str, str]) -> None:
    """Serve these style sheets too; their names stand in :data:`FILES`."""
    SHEETS.update(sheets)


@cache
def content_of(name: str) -> bytes:
    """The bytes of an asset."""
    if name in SHEETS:
        return SHEETS[name].encode()
    return (FOLDER / ELSEWHERE.get(name, name)).read_bytes()


@cache
def version_of(name: str) -> str:
    return hashlib.sha256(content_of(name)).hexdigest()[:16]


def address(name: str) -> str:
    """Where pages load it from."""
    return f"/static/{name}?v={version_of(name)}"


def asset(request: Request, name: str) -> Response:
    """One file; to be kept for good where it was asked for by its version."""
    if name not in FILES:
        raise NotFound("there is no such file")
    kept = FOR_GOOD if request.query_params.get("v") == version_of(name) else "no-cache"
    headers = {
        "Cache-Control": kept,
        "Vary": "Accept-Encoding",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(packed(name), media_type=FILES[name], headers=headers)
    return Response(content_of(name), media_type=FILES[name], headers=headers)


@cache
def packed(name: str) -> bytes:
    """The bytes as gzip. Pages are never compressed: they hold the CSRF token of a session."""
    return gzip.compress(content_of(name), mtime=0)
