"""Nodes: what is known of one over all incidents."""

from typing import Final

from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.shapes import make_shape
from triage.api.requests.paths import name_in_path
from triage.api.requests.values import PathName
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.probation import Probation
from triage.errors import NotFound
from triage.store import nodes
from triage.store.nodes import NodeReport

_HISTORY: Final = make_shape("NodeHistory", NodeReport, probation=Probation | None)
routes = Routes("/v1/nodes", "nodes", Scope.READ)


@routes.get("/{node}", "History of a node", ("Its history.", _HISTORY), refuses=(404,))
def node_history(request: Request, node: PathName) -> Response:
    """Its incidents, its distinct errors, and how often it is a culprit beside the fleet.

    `probation` says that it came back from a repair lately and is likelier to fail than others.
    """
    name, cluster = name_in_path("node", node), get_caller(request).cluster
    ctx = get_state(request).context
    with ctx.database.reading() as session:
        history = nodes.read_history(session, name, cluster=cluster)
    if history is None:
        raise NotFound(
            "nothing has named this node yet", hint="give the node's name as the scheduler does"
        )
    probation = ctx.fleet.probation(ctx, name, cluster)
    return make_json_response(
        {**history, "probation": None if probation is None else probation.to_dict()}
    )
