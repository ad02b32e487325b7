"""Hardware of the fleet by its own identity: where a part is, and where it was."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope
from triage.api.requests.values import Limit, Name
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.fleet.api.routers.fleet import make_json_answer
from triage.fleet.api.shapes import HARDWARE
from triage.fleet.api.values import ClusterName
from triage.fleet.services.parts import answer_hardware

routes = Routes("/v1/fleet", "fleet", Scope.READ)


@routes.get(
    "/hardware",
    "Where a part is and was",
    ("Its stays, the newest first.", HARDWARE),
    etag=True,
    refuses=(404,),
)
def fleet_hardware(
    request: Request,
    identity: Annotated[
        Name | None, Query(description="A GPU's UUID, a serial number, an adapter's GUID.")
    ] = None,
    node: Annotated[Name | None, Query(description="All parts of this node.")] = None,
    cluster: ClusterName = None,
    limit: Limit = 50,
) -> Response:
    """The stays of a part in nodes, by the identity that its maker gave it, or of all parts of a
    node. One of `identity` and `node` is needed.
    """
    found = answer_hardware(
        get_state(request).context, identity=identity, node=node, cluster=cluster, limit=limit
    )
    return make_json_answer(request, found.to_dict())
