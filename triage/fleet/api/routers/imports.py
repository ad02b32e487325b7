"""What schedulers, trackers and inventories export, as the raw body of a request."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import BINARY, describe_binary_body
from triage.api.requests.body import UploadBody
from triage.api.requests.values import Name
from triage.api.routers.uploads import get_coding, take_in_turn
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.errors import Place, Unprocessable, UsageError
from triage.fleet.parsers.rows import DAY_ZERO
from triage.fleet.services.exposure.imports import (
    MOST_ROWS,
    Imported,
    import_upload,
    parse_day_zero,
    parse_node_names,
    parse_zone,
)

T = TypeVar("T")

# As uploads are: bounded by the gate, not counted as questions.
routes = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)


@routes.post(
    "/import",
    "Send runs, outages, repairs or an inventory",
    {200: ("What became of its rows.", Imported)},
    body=describe_binary_body(
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
    state = get_state(request)
    own_zone = _parse_query_value("zone", parse_zone, zone or "UTC")
    first_day = _parse_query_value("day_zero", parse_day_zero, day_zero or f"{DAY_ZERO:%Y-%m-%d}")
    known = _parse_query_value("nodes", parse_node_names, nodes or "")
    body = UploadBody(request, state.context.settings.max_artifact_bytes)
    take = partial(
        import_upload,
        state.context,
        body.read,
        get_coding(request),
        zone=own_zone,
        cluster=cluster or "",
        day_zero=first_day,
        nodes=known,
        most_rows=MOST_ROWS,
        caller=get_caller(request),
    )
    taken = await take_in_turn(state, body, take)
    return make_json_response(taken.to_dict(), 200)


def _parse_query_value(name: str, read: Callable[[str], T], text: str) -> T:
    """A value of the query. Raises :class:`Unprocessable`, which names its place."""
    try:
        return read(text)
    except UsageError as error:
        place = Place(f"query/{name}", "cannot be read")
        raise Unprocessable(str(error), hint=f"leave {name} out", places=(place,)) from error
