"""What the whole record of a fleet says: of one period, of parts, of repairs, and of plans."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import JSON, make_tagged_response
from triage.api.description.shapes import make_shape
from triage.api.requests.values import Limit, Name
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.standing import FleetStandings
from triage.domain.wire import Count
from triage.fleet.api.values import (
    ClusterName,
    CompareDays,
    Confidence,
    Cost,
    From,
    Gpus,
    Hours,
    NeededGpus,
    Nodes,
    RepairDays,
    Restart,
    Top,
    Until,
)
from triage.fleet.repairs.answer import FleetRepairs
from triage.fleet.report.options import COST_S, RESTART_S, FleetOptions
from triage.fleet.report.report import FleetReport
from triage.fleet.report.what_if import (
    CheckpointAnswer,
    PlanHead,
    ProjectionAnswer,
    SparesAnswer,
    answer_plan,
    checkpoints_for,
    projection_for,
    spares_for,
)
from triage.fleet.services.answers import (
    determine_fleet_period,
    look_at_fleet,
    make_fleet_report,
)
from triage.fleet.services.health.due_list import CheckRow
from triage.fleet.services.parts import HardwareAnswer, answer_hardware
from triage.fleet.services.record.record import answer_repairs
from triage.statistics.estimate import Estimate

# Shapes of the fleet's answers: its report, the parts of it, and plans from it.

_TELEMETRY: Final = make_shape(
    "FleetTelemetry",
    doc="Telemetry of the 28 days before the end, the nodes first that were throttled longest.",
    num_nodes=Count,
    nodes=list[dict[str, Any]],
)
FLEET: Final = make_shape(
    "Fleet",
    FleetReport,
    doc="`triage.fleet/1`: every answer of the record of one period.",
    schema=str,
    mtti=Annotated[Estimate, "`rates.mtti`: hours between stops of a job."],
    standings=make_shape(
        "StandingsForm",
        FleetStandings,
        doc="The worst nodes, how many stand how, and what they were held against.",
    ),
    checks=list[CheckRow],
    num_checks=Count,
    telemetry=_TELEMETRY,
    clusters=list[str],
)
REPAIRS: Final = make_shape(
    "FleetRepairsAnswer",
    FleetRepairs,
    doc="`triage.repairs/1`: which repairs hold, and which nodes are on probation.",
    schema=str,
)
HARDWARE: Final = make_shape(
    "FleetHardware", HardwareAnswer, doc="Stays of parts in nodes, the newest first."
)
PROJECTION: Final = make_shape(
    "FleetProjection", PlanHead, ProjectionAnswer, doc="A job of N GPUs at this fleet's rate."
)
CHECKPOINT: Final = make_shape(
    "FleetCheckpoint",
    PlanHead,
    CheckpointAnswer,
    doc="How often to checkpoint; intervals in seconds of work between two.",
)
SPARES: Final = make_shape(
    "FleetSpares", PlanHead, SparesAnswer, doc="How many spare nodes suffice."
)


routes = Routes("/v1/fleet", "fleet", Scope.READ)


def _make_report(
    request: Request, since: From = None, until: Until = None, cluster: ClusterName = None
) -> FleetReport:
    """The report of the period and the cluster that a question names."""
    ctx = get_state(request).context
    return make_fleet_report(ctx, since=since, until=until, cluster=cluster)


_Report = Annotated[FleetReport, Depends(_make_report)]


@routes.get("", "The fleet's report", ("`triage.fleet/1`.", FLEET), etag=True, refuses=(404,))
def fleet_report(
    request: Request,
    since: From = None,
    until: Until = None,
    cluster: ClusterName = None,
    gpus: Gpus = None,
    cost_s: Cost = None,
    restart_s: Restart = None,
    compare_days: CompareDays = None,
    top: Top = 50,
) -> Response:
    """Rates, causes beside Llama 3's, projection, checkpoints, spares, and the worst nodes.

    Planned interruptions are counted apart and are in no rate.
    """
    answer = look_at_fleet(
        get_state(request).context,
        since=since,
        until=until,
        cluster=cluster,
        options=FleetOptions(
            checkpoint_cost_s=cost_s or COST_S,
            restart_s=restart_s or RESTART_S,
            reference_gpus=gpus,
            compare_last_days=compare_days,
        ),
    )
    clusters = tuple(filter(get_caller(request).sees, answer.clusters))
    return make_json_answer(request, replace(answer, clusters=clusters).to_dict(top))


def make_json_answer(request: Request, value: Mapping[str, Any]) -> Response:
    """JSON with an ETag: the same question is often asked again."""
    return make_tagged_response(request, orjson.dumps(value), JSON)


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


@routes.get(
    "/projection", "A job of N GPUs", ("MTTI and survival.", PROJECTION), etag=True, refuses=(404,)
)
def fleet_projection(
    request: Request, report: _Report, gpus: NeededGpus, hours: Hours = None
) -> Response:
    """How often it would stop, and how likely it runs for so many hours; `gpus` is needed.

    Read `warnings`: beyond four times the sizes seen, it is a guess.
    """
    found = projection_for(report, gpus, () if hours is None else (hours,))
    return make_json_answer(request, answer_plan(report, found))


@routes.get(
    "/checkpoint",
    "How often to checkpoint",
    ("Intervals and what they cost.", CHECKPOINT),
    etag=True,
    refuses=(404,),
)
def fleet_checkpoint(
    request: Request,
    report: _Report,
    gpus: Gpus = None,
    cost_s: Cost = None,
    restart_s: Restart = None,
) -> Response:
    """Young's and Daly's intervals for a job of `gpus` (the usual one where not given)."""
    found = checkpoints_for(report, gpus, cost_s=cost_s, restart_s=restart_s)
    return make_json_answer(request, answer_plan(report, found))


@routes.get("/spares", "How many spare nodes", ("Spares.", SPARES), etag=True, refuses=(404,))
def fleet_spares(
    request: Request,
    report: _Report,
    nodes: Nodes = None,
    repair_days: RepairDays = None,
    confidence: Confidence = None,
) -> Response:
    """What will suffice (`forecast`) and what did (`record`), by the outages on record; beside
    them by the repair pipeline, each node on its own: if every stop takes a node away, if
    hardware faults alone do, and as often as nodes were out of service.

    `costs` weighs node-days of spares against what is short without them.
    """
    found = spares_for(report, nodes, repair_days=repair_days, confidence=confidence)
    return make_json_answer(request, answer_plan(report, found))
