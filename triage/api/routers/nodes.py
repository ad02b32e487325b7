"""Nodes: what is known of one over all incidents."""

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from triage.api.access import Scope, admitted
from triage.api.answers.json import as_json
from triage.api.description.described import answers, scoped
from triage.api.description.schemas import Node
from triage.api.requests.paths import name_in_path
from triage.api.requests.values import PathName, known_query
from triage.api.state import state_of
from triage.errors import NotFound
from triage.store import nodes

__all__ = ["router"]

router = APIRouter(
    prefix="/v1/nodes",
    tags=["nodes"],
    dependencies=[Depends(admitted(Scope.READ)), Depends(known_query())],
)


@router.get(
    "/{node}",
    summary="History of a node",
    responses=answers(401, 403, 404, 422, 429, ok={200: ("Its history.", Node)}),
    openapi_extra=scoped(Scope.READ),
)
def node_history(request: Request, node: PathName) -> Response:
    """Its incidents, its distinct errors, and how often it is a culprit beside the fleet."""
    name = name_in_path("node", node)
    with state_of(request).context.database.reading() as session:
        found = nodes.history(session, name)
    if found is None:
        raise NotFound(
            "nothing has named this node yet", hint="give the node's name as the scheduler does"
        )
    return as_json(found)
