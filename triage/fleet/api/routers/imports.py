"""What schedulers, inventories and public traces export, as the raw body of a request."""

from functools import partial
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, caller_of
from triage.api.answers.json import as_json
from triage.api.description.described import BINARY, binary_body
from triage.api.requests.body import UploadBody
from triage.api.requests.values import Name
from triage.api.routers.uploads import coding, within
from triage.api.routes import Routes
from triage.api.state import state_of
from triage.errors import Place, Unprocessable, UsageError
from triage.fleet.services.exposure.imports import MOST_ROWS, Imported, import_upload, zone_of

__all__ = ["routes"]

# As uploads are: bounded by the gate, not counted as questions.
routes = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)


@routes.post(
    "/import",
    "Send runs, outages or an inventory",
    {200: ("What became of its rows.", Imported)},
    body=binary_body(
        "The export, byte for byte. Content-Encoding gzip or zstd, .gz and .zst are fine.",
        BINARY,
        "text/csv",
        "application/json",
    ),
)
async def import_rows(
    request: Request,
    zone: Annotated[
        Name | None, Query(description="Of times that name none, such as Europe/Berlin; else UTC.")
    ] = None,
    cluster: Annotated[Name | None, Query(description="Of rows that name none.")] = None,
) -> Response:
    """`sacct --parsable2`, `kubectl get jobs,pods -o json`, AcmeTrace, or a table of runs, of
    nodes or of outages. Known by its content; rows that are there already add nothing, and one
    that cannot be read stops no other.
    """
    state = state_of(request)
    try:
        own_zone = zone_of(zone or "UTC")
    except UsageError as error:
        raise Unprocessable(
            str(error), hint="leave zone out for UTC", places=(Place("query/zone", "is not known"),)
        ) from error
    body = UploadBody(request, state.context.settings.max_artifact_bytes)
    take = partial(
        import_upload,
        state.context,
        body.read,
        coding(request),
        zone=own_zone,
        cluster=cluster or "",
        most_rows=MOST_ROWS,
        caller=caller_of(request),
    )
    taken = await within(state, body, take)
    return as_json(taken.to_dict(), 200)
