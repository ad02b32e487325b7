"""What schedulers, trackers and inventories export, as the raw body of a request."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

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
from triage.fleet.parsers.rows import DAY_ZERO
from triage.fleet.services.exposure.imports import (
    MOST_ROWS,
    Imported,
    day_of,
    import_upload,
    names_of,
    zone_of,
)

T = TypeVar("T")

# As uploads are: bounded by the gate, not counted as questions.
routes = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)


@routes.post(
    "/import",
    "Send runs, outages, repairs or an inventory",
    {200: ("What became of its rows.", Imported)},
    body=binary_body(
        "The export, byte for byte. Content-Encoding gzip or zstd, .gz, .zst, .xz, .bz2 are fine.",
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
    day_zero: Annotated[
        Name | None, Query(description="Of tables that count days, as 2024-03-30; else 2000-01-01.")
    ] = None,
    nodes: Annotated[
        Name | None,
        Query(description="A host list: nodes that tickets name, besides those of the cluster."),
    ] = None,
) -> Response:
    """What Slurm keeps of jobs and nodes, lists of kubectl, tickets, or a table of
    runs, of nodes or of outages. Known by its content; rows that are there already add nothing,
    and one that cannot be read stops no other.
    """
    state = state_of(request)
    own_zone = _value_in("zone", zone_of, zone or "UTC")
    first_day = _value_in("day_zero", day_of, day_zero or f"{DAY_ZERO:%Y-%m-%d}")
    known = _value_in("nodes", names_of, nodes or "")
    body = UploadBody(request, state.context.settings.max_artifact_bytes)
    take = partial(
        import_upload,
        state.context,
        body.read,
        coding(request),
        zone=own_zone,
        cluster=cluster or "",
        day_zero=first_day,
        nodes=known,
        most_rows=MOST_ROWS,
        caller=caller_of(request),
    )
    taken = await within(state, body, take)
    return as_json(taken.to_dict(), 200)


def _value_in(name: str, read: Callable[[str], T], text: str) -> T:
    """A value of the query. Raises :class:`Unprocessable`, which names its place."""
    try:
        return read(text)
    except UsageError as error:
        place = Place(f"query/{name}", "cannot be read")
        raise Unprocessable(str(error), hint=f"leave {name} out", places=(place,)) from error
