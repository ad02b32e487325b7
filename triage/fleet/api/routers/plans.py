"""Plans: a job of N GPUs, its checkpoints, and spare nodes, at the fleet's own rate."""

from typing import Final

from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.errors import Place, Unprocessable
from triage.fleet.api.routers.fleet import make_json_answer
from triage.fleet.api.shapes import CHECKPOINT, PROJECTION, SPARES
from triage.fleet.api.values import (
    ClusterName,
    Confidence,
    Cost,
    From,
    Gpus,
    Hours,
    Nodes,
    RepairDays,
    Restart,
    Until,
)
from triage.fleet.services.answers import make_fleet_report
from triage.fleet.services.plans import answer_checkpoint, answer_projection, answer_spares

routes = Routes("/v1/fleet", "fleet", Scope.READ)

_NO_GPUS: Final = "gpus: say for how many GPUs"


@routes.get(
    "/projection", "A job of N GPUs", ("MTTI and survival.", PROJECTION), etag=True, refuses=(404,)
)
def fleet_projection(
    request: Request,
    since: From = None,
    until: Until = None,
    cluster: ClusterName = None,
    gpus: Gpus = None,
    hours: Hours = None,
) -> Response:
    """How often it would stop, and how likely it runs for so many hours; `gpus` is needed.

    Read `warnings`: beyond four times the sizes seen, it is a guess.
    """
    if gpus is None:
        raise Unprocessable(
            _NO_GPUS, hint="add gpus=16384", places=(Place("query/gpus", "is needed"),)
        )
    report = make_fleet_report(
        get_state(request).context, since=since, until=until, cluster=cluster
    )
    return make_json_answer(request, answer_projection(report, gpus, hours))


@routes.get(
    "/checkpoint",
    "How often to checkpoint",
    ("Intervals and what they cost.", CHECKPOINT),
    etag=True,
    refuses=(404,),
)
def fleet_checkpoint(
    request: Request,
    since: From = None,
    until: Until = None,
    cluster: ClusterName = None,
    gpus: Gpus = None,
    cost_s: Cost = None,
    restart_s: Restart = None,
) -> Response:
    """Young's and Daly's intervals for a job of `gpus` (the usual one where not given)."""
    report = make_fleet_report(
        get_state(request).context, since=since, until=until, cluster=cluster
    )
    return make_json_answer(request, answer_checkpoint(report, gpus, cost_s, restart_s))


@routes.get("/spares", "How many spare nodes", ("Spares.", SPARES), etag=True, refuses=(404,))
def fleet_spares(
    request: Request,
    since: From = None,
    until: Until = None,
    cluster: ClusterName = None,
    nodes: Nodes = None,
    repair_days: RepairDays = None,
    confidence: Confidence = None,
) -> Response:
    """What will suffice (`forecast`) and what did (`record`), by the outages on record; beside
    them by the repair pipeline, each node on its own: if every stop takes a node away, if
    hardware faults alone do, and as often as nodes were out of service.

    `costs` weighs node-days of spares against what is short without them.
    """
    report = make_fleet_report(
        get_state(request).context, since=since, until=until, cluster=cluster
    )
    return make_json_answer(request, answer_spares(report, nodes, repair_days, confidence))
