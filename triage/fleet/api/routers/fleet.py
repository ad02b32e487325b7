"""The fleet: what its whole record says of one period."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import JSON, make_tagged_response
from triage.api.description.shapes import AnswerShape
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.wire import format_iso_utc
from triage.fleet.api.shapes import CAUSES, FLEET, MTTI, PARTS
from triage.fleet.api.values import (
    ClusterName,
    CompareDays,
    Cost,
    From,
    Gpus,
    Restart,
    Top,
    Until,
    UtcOffset,
)
from triage.fleet.services.answers import (
    build_fleet_options,
    determine_fleet_period,
    look_at_fleet,
    look_at_standings,
    make_fleet_report,
)

routes = Routes("/v1/fleet", "fleet", Scope.READ)


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
    utc_offset_hours: UtcOffset = None,
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
        options=build_fleet_options(
            gpus=gpus,
            cost_s=cost_s,
            restart_s=restart_s,
            compare_days=compare_days,
            utc_offset_hours=utc_offset_hours,
        ),
    )
    clusters = tuple(filter(get_caller(request).sees, answer.clusters))
    return make_json_answer(request, replace(answer, clusters=clusters).to_dict(top))


@routes.get(
    "/causes",
    "What stopped the jobs",
    ("Counts, shares, rates.", CAUSES),
    etag=True,
    refuses=(404,),
)
def fleet_causes(
    request: Request, since: From = None, until: Until = None, cluster: ClusterName = None
) -> Response:
    """By leaf, by origin, and by row of the Llama 3 table beside Llama 3's own counts."""
    report = make_fleet_report(
        get_state(request).context, since=since, until=until, cluster=cluster
    ).to_dict()
    return make_json_answer(request, _select_part(report, CAUSES))


@routes.get("/mtti", "How often jobs stop", ("Rates, over time.", MTTI), etag=True, refuses=(404,))
def fleet_mtti(
    request: Request, since: From = None, until: Until = None, cluster: ClusterName = None
) -> Response:
    """The time between unexpected interruptions with its interval: in all, by size of job, by
    generation of node, and over time by day, week or four weeks.
    """
    report = make_fleet_report(
        get_state(request).context, since=since, until=until, cluster=cluster
    ).to_dict()
    return make_json_answer(request, _select_part(report, MTTI))


@routes.get(
    "/parts", "What is named again and again", ("The parts.", PARTS), etag=True, refuses=(404,)
)
def fleet_parts(request: Request, until: Until = None, cluster: ClusterName = None) -> Response:
    """The same GPU, link or NIC of a node; the same leaf switch over several nodes."""
    end = determine_fleet_period(None, until).until
    found = look_at_standings(get_state(request).context, until=end, cluster=cluster)
    return make_json_answer(
        request,
        {
            "until": format_iso_utc(end),
            "cluster": cluster,
            "parts": [part.to_dict() for part in found.parts],
            "notes": list(found.notes),
        },
    )


def _select_part(report: Mapping[str, Any], part: AnswerShape) -> dict[str, Any]:
    """The answers of a report that a part of it holds."""
    return {key: report[key] for key in part.hints}


def make_json_answer(request: Request, value: Mapping[str, Any]) -> Response:
    """JSON with an ETag: the same question is often asked again."""
    return make_tagged_response(request, orjson.dumps(value), JSON)
