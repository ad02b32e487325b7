"""Plans: a job of N GPUs, its checkpoints, and spare nodes, at the fleet's own rate."""

from typing import Final

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from triage.api.access import Scope, admitted
from triage.api.description.described import answers, scoped
from triage.api.requests.values import known_query
from triage.api.state import state_of
from triage.errors import Place, Unprocessable
from triage.fleet.api.routers.fleet import PERIOD, REFUSALS, UNCHANGED, as_answer
from triage.fleet.api.schemas import FleetCheckpoint, FleetProjection, FleetSpares
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
from triage.fleet.services.answers import report_of
from triage.fleet.services.plans import checkpoint_facts, projection_facts, spares_facts

__all__ = ["router"]

router = APIRouter(prefix="/v1/fleet", tags=["fleet"], dependencies=[Depends(admitted(Scope.READ))])

NO_GPUS: Final = "gpus: say for how many GPUs"


@router.get(
    "/projection",
    summary="A job of N GPUs",
    dependencies=[Depends(known_query(*PERIOD, "gpus", "hours"))],
    responses=answers(*REFUSALS, ok={200: ("MTTI and survival.", FleetProjection), 304: UNCHANGED}),
    openapi_extra=scoped(Scope.READ),
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
            NO_GPUS, hint="add gpus=16384", places=(Place("query/gpus", "is needed"),)
        )
    report = report_of(state_of(request).context, since=since, until=until, cluster=cluster)
    return as_answer(request, projection_facts(report, gpus, hours))


@router.get(
    "/checkpoint",
    summary="How often to checkpoint",
    dependencies=[Depends(known_query(*PERIOD, "gpus", "cost_s", "restart_s"))],
    responses=answers(
        *REFUSALS, ok={200: ("Intervals and what they cost.", FleetCheckpoint), 304: UNCHANGED}
    ),
    openapi_extra=scoped(Scope.READ),
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
    report = report_of(state_of(request).context, since=since, until=until, cluster=cluster)
    return as_answer(request, checkpoint_facts(report, gpus, cost_s, restart_s))


@router.get(
    "/spares",
    summary="How many spare nodes",
    dependencies=[Depends(known_query(*PERIOD, "nodes", "repair_days", "confidence"))],
    responses=answers(*REFUSALS, ok={200: ("Spares.", FleetSpares), 304: UNCHANGED}),
    openapi_extra=scoped(Scope.READ),
)
def fleet_spares(
    request: Request,
    since: From = None,
    until: Until = None,
    cluster: ClusterName = None,
    nodes: Nodes = None,
    repair_days: RepairDays = None,
    confidence: Confidence = None,
) -> Response:
    """By the repair pipeline: if every stop takes a node away, if hardware faults alone do, and
    as often as nodes were out of service.
    """
    report = report_of(state_of(request).context, since=since, until=until, cluster=cluster)
    return as_answer(request, spares_facts(report, nodes, repair_days, confidence))
