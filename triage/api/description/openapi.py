"""The OpenAPI description, as ``/openapi.json`` gives it.

``/docs``: the OpenAPI description as a page that needs nothing but this server.

No content network, no inline script: it works in a cluster without a way out, and under
a policy that runs no script but its own file.
"""

from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from triage.api.answers.problems import Problem
from triage.api.description.described import INCOMING
from triage.api.description.shapes import Source, make_schemas
from triage.version import __version__

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
    for path, (name, media_type) in _FILES.items():
        answer = partial(_answer_file, name, media_type)
        app.add_api_route(
            path, answer, methods=["GET"], include_in_schema=False, name=f"docs {path}"
        )


async def _answer_file(name: str, media_type: str) -> Response:
    """One file with its policy."""
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
    return Response(read_content(name), media_type=media_type, headers=headers)


@lru_cache
def read_content(name: str) -> bytes:
    """The bytes of a file of the page."""
    return (_FOLDER / name).read_bytes()


_DESCRIPTION: Final = """\
Says which rank, node or GPU stopped a distributed training job, and why.

A hook opens an incident, nodes upload their dumps and logs, the suspects are read:
`POST /v1/hooks/job-failed`, `POST /v1/jobs/{job_id}/bundle`, \
`GET /v1/incidents/{id}/suspects?wait_s=60`.

Every refusal is a problem document (RFC 9457) that says where it is wrong and what to do.
Lists are pages: follow `next_cursor` until it is null.
"""


def describe_app(app: FastAPI, shapes: Iterable[Source]) -> dict[str, Any]:
    """The description of an application that answers with these shapes; made once."""
    if app.openapi_schema is None:
        found = get_openapi(
            title="nccl-triage",
            version=__version__,
            openapi_version="3.1.0",
            description=_DESCRIPTION,
            routes=app.routes,
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )
        parts = found.setdefault("components", {})
        schemas = make_schemas((Problem, *shapes))
        # FastAPI's own description of a refusal is not what we answer.
        parts["schemas"] = dict(sorted({**schemas, **INCOMING}.items()))
        parts["securitySchemes"] = {
            "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "Made by `triage token create`. `x-scope` says which scope a route"
                " needs; `admin` includes all, `read` and `ingest` exclude each other.",
            }
        }
        app.openapi_schema = found
    return app.openapi_schema
