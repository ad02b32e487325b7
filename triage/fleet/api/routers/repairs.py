"""Repairs of the fleet: which hold, which nodes are on probation."""

from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.fleet.api.routers.fleet import make_json_answer
from triage.fleet.api.shapes import REPAIRS
from triage.fleet.api.values import ClusterName, Until
from triage.fleet.services.answers import determine_fleet_period
from triage.fleet.services.repairs import answer_repairs

routes = Routes("/v1/fleet", "fleet", Scope.READ)


@routes.get(
    "/repairs",
    "Which repairs hold",
    ("`triage.repairs/1`.", REPAIRS),
    etag=True,
    refuses=(404,),
)
def fleet_repairs(request: Request, until: Until = None, cluster: ClusterName = None) -> Response:
    """How many returned nodes fail again, by cause and repair, and the nodes on probation.

    It rests on the outages and notes of repairs of the two years before `until`. What was said on
    the day of each return is held against what came (`judged`).
    """
    end = determine_fleet_period(None, until).until
    found = answer_repairs(get_state(request).context, until=end, cluster=cluster)
    return make_json_answer(request, found.to_dict())
