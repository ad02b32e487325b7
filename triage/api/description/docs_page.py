"""``/docs``: the OpenAPI description as a page that needs nothing but this server.

No content network, no inline script: it works in a cluster without a way out, and under
a policy that runs no script but its own file.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.responses import Response

_FOLDER: Final = Path(__file__).parent / "static"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_FILES: Final = {
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    "/docs/docs.css": ("docs.css", "text/css; charset=utf-8"),
    "/docs/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
}


def add_to(app: FastAPI) -> None:
    """The routes of the page and its two files."""
    for path in _FILES:
        app.add_api_route(
            path, _answer_with(path), methods=["GET"], include_in_schema=False, name=f"docs {path}"
        )


def _answer_with(path: str) -> "Answering":
    return Answering(*_FILES[path])


class Answering:
    """Gives one file."""

    def __init__(self, name: str, media_type: str) -> None:
        self.name = name
        self.media_type = media_type

    async def __call__(self) -> Response:
        """The file with its policy."""
        headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
        return Response(read_content(self.name), media_type=self.media_type, headers=headers)


@lru_cache
def read_content(name: str) -> bytes:
    """The bytes of a file of the page."""
    return (_FOLDER / name).read_bytes()
