"""Telemetry of nodes, as the raw body of a request: summarised on arrival."""

from functools import partial

from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import BINARY, describe_binary_body
from triage.api.requests.body import UploadBody
from triage.api.routers.uploads import get_coding, take_in_turn
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.fleet.api.values import NodeName, OfCluster
from triage.fleet.services.telemetry.ingest import TakenTelemetry, TelemetryTarget, take_telemetry

# As uploads are: bounded by the gate, not counted as questions.
routes = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)


@routes.post(
    "/telemetry",
    "Send telemetry of nodes",
    {200: ("What was read, and what was news.", TakenTelemetry)},
    body=describe_binary_body(
        "The samples, byte for byte. Content-Encoding gzip or zstd, .gz, .zst, .xz, .bz2 are fine.",
        BINARY,
        "text/plain",
        "text/csv",
        "application/json",
    ),
)
async def send_telemetry(
    request: Request,
    node: NodeName = None,
    cluster: OfCluster = None,
) -> Response:
    """A scrape of an exporter, an answer of the Prometheus API, `nvidia-smi --query-gpu` as CSV,
    a table, or Parquet. Known by its content; the same samples again change nothing.
    """
    state = get_state(request)
    target = TelemetryTarget(node, cluster or "", get_caller(request))
    body = UploadBody(request, state.context.settings.max_artifact_bytes)
    taken = await take_in_turn(
        state, body, partial(take_telemetry, state.context, target, body.read, get_coding(request))
    )
    return make_json_response(taken.to_dict(), 200)
