"""The OpenAPI description, as ``/openapi.json`` gives it."""

from collections.abc import Iterable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from triage.api.answers.problems import Problem
from triage.api.description.incoming import INCOMING
from triage.api.description.shapes import Source, make_schemas
from triage.version import __version__

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
