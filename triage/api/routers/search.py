"""Search over everything: one text, and what bears it.

Nodes: what is known of one over all incidents.
"""

from typing import Annotated, Final

from fastapi import Query, Request
from pydantic import BeforeValidator, WithJsonSchema
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.shapes import make_shape
from triage.api.requests.cursors import make_id_cursor, parse_id_cursor
from triage.api.requests.values import Cursor, Name, PathName, name, name_in_path
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.probation import Probation
from triage.errors import NotFound
from triage.services.search import MAX_QUERY, SearchAnswer, search
from triage.store import nodes
from triage.store.nodes import NodeReport

routes = Routes("/v1/search", "search", Scope.READ)


def _check_words(text: str) -> str:
    if len(name(text)) > MAX_QUERY or not text.strip():
        raise ValueError(f"give 1 to {MAX_QUERY} characters")
    return text


Words = Annotated[
    str,
    Query(description="A job, node, serial number, UUID, `xid 79`, incident, category, or text."),
    BeforeValidator(_check_words),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_QUERY}),
]


_ANSWER: Final = make_shape("SearchAnswer", SearchAnswer, next_cursor=str | None)
SEARCH: Final = "search"
"""The kind of its cursors."""


@routes.get("", "Find by one text", ("What bears it.", _ANSWER), refuses=(404,))
def search_all(
    request: Request,
    q: Words,
    cluster: Annotated[Name | None, Query(description="This cluster alone.")] = None,
    cursor: Cursor = None,
) -> Response:
    """Jobs, nodes, parts, incidents, causes and evidence that bear the text, exact names first.

    At most 20 of each kind. Evidence is searched from the newest back for 1.5 seconds;
    `next_cursor` goes on with older evidence, and is null where all was searched.
    """
    found, older = search(
        get_state(request).context, q, get_caller(request), cluster, parse_id_cursor(SEARCH, cursor)
    )
    next_cursor = None if older is None else make_id_cursor(SEARCH, older)
    return make_json_response(found.to_dict() | {"next_cursor": next_cursor})


_HISTORY: Final = make_shape("NodeHistory", NodeReport, probation=Probation | None)
node_routes = Routes("/v1/nodes", "nodes", Scope.READ)


@node_routes.get("/{node}", "History of a node", ("Its history.", _HISTORY), refuses=(404,))
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
