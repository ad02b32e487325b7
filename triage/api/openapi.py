"""The OpenAPI description, as ``/openapi.json`` gives it and ``docs/openapi.json`` keeps it.

``python -m triage.api.openapi > docs/openapi.json`` writes the file anew; a test compares.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from triage import __version__
from triage.api.check_schemas import CHECKS
from triage.api.fleet_schemas import FLEET
from triage.api.incoming import INCOMING
from triage.api.schemas import OUTGOING

__all__ = ["described"]

REF: Final = "#/components/schemas/{model}"
DESCRIPTION: Final = """\
Says which rank, node or GPU stopped a distributed training job, and why.

A hook opens an incident, nodes upload their dumps and logs, the suspects are read:
`POST /v1/hooks/job-failed`, `POST /v1/jobs/{job_id}/bundle`, \
`GET /v1/incidents/{id}/suspects?wait_s=60`.

Every refusal is a problem document (RFC 9457) that says where it is wrong and what to do.
Lists are pages: follow `next_cursor` until it is null.
"""


def described(app: FastAPI) -> dict[str, Any]:
    """The description of an application; made once."""
    if app.openapi_schema is None:
        found = get_openapi(
            title="nccl-triage",
            version=__version__,
            openapi_version="3.1.0",
            description=DESCRIPTION,
            routes=app.routes,
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )
        parts = found.setdefault("components", {})
        _, shapes = models_json_schema(
            [(model, "serialization") for model in (*OUTGOING, *FLEET, *CHECKS)],
            ref_template=REF,
            by_alias=True,
        )
        # FastAPI's own description of a refusal is not what we answer.
        parts["schemas"] = dict(sorted({**shapes["$defs"], **INCOMING}.items()))
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


def main() -> None:
    """Write the description to stdout."""
    from triage.api.app import create_app
    from triage.services.context import open_context
    from triage.settings import load_settings

    with TemporaryDirectory() as folder:
        ctx = open_context(load_settings(data_dir=Path(folder)))
        text = json.dumps(described(create_app(ctx)), indent=1, ensure_ascii=False)
        ctx.close()
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
