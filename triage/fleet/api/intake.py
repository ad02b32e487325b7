"""What a fleet is told, as the raw body of a request: ends of jobs, exports, checks, telemetry.

Routes that take files are bounded by the gate as uploads are, and not counted as questions.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import BINARY, describe_binary_body, describe_json_body
from triage.api.requests.body import JsonBody, UploadBody
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.strict_json import parse_object
from triage.api.requests.values import Name, Since
from triage.api.routers.uploads import get_coding, take_in_turn
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.errors import Place, Unprocessable, UsageError
from triage.fleet.api.values import BusBandwidth, NodeName, OfCluster
from triage.fleet.parsers.rows import DAY_ZERO
from triage.fleet.services.exposure.imports import (
    Imported,
    import_upload,
    parse_day_zero,
    parse_zone,
)
from triage.fleet.services.exposure.job_ended import EndedJob, keep_job_end, parse_end
from triage.fleet.services.health.ingest import CheckTarget, TakenChecks, take_checks
from triage.fleet.services.telemetry.ingest import TakenTelemetry, TelemetryTarget, take_telemetry
from triage.formats.health.check_format import MAX_BYTES

ending = Routes("/v1/hooks", "hooks", Scope.INGEST)


@ending.post(
    "/job-ended",
    "A job has ended",
    {202: ("What became of its run.", EndedJob)},
    body=describe_json_body("JobEnded"),
    repeatable=True,
)
def job_ended(request: Request, body: JsonBody) -> Response:
    """Keeps when and where a job ran, and how it ended. Opens no incident.

    The same (`cluster`, `job_id`, `started_at`) is the same run; without `started_at` it is
    the run of the job that was going on.
    """
    state = get_state(request)

    def act(_keeper: Keeper) -> Response:
        end = parse_end(parse_object(body), read_utc_now(), get_caller(request))
        return make_json_response(keep_job_end(state.context, end).to_dict(), 202)

    return answer_once(request, body, act)


T = TypeVar("T")

# As uploads are: bounded by the gate, not counted as questions.
importing = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)


@importing.post(
    "/import",
    "Send runs, outages, repairs or an inventory",
    {200: ("What became of its rows.", Imported)},
    body=describe_binary_body(
        "The export, byte for byte. Content-Encoding gzip or zstd, .gz, .zst, .xz, .bz2 are fine.",
        BINARY,
        "text/csv",
        "application/json",
    ),
)
async def import_rows(
    request: Request,
    zone: Annotated[
        Name | None, Query(description="Of times that name none, such as Europe/Berlin; else UTC.")
    ] = None,
    cluster: Annotated[Name | None, Query(description="Of rows that name none.")] = None,
    day_zero: Annotated[
        Name | None, Query(description="Of tables that count days, as 2024-03-30; else 2000-01-01.")
    ] = None,
) -> Response:
    """What Slurm keeps of jobs and nodes, lists of kubectl, tickets, or a table of
    runs, of nodes or of outages. Known by its content; rows that are there already add nothing,
    and one that cannot be read stops no other.
    """
    state = get_state(request)
    own_zone = _parse_query_value("zone", parse_zone, zone or "UTC")
    first_day = _parse_query_value("day_zero", parse_day_zero, day_zero or f"{DAY_ZERO:%Y-%m-%d}")
    body = UploadBody(request, state.context.settings.max_artifact_bytes)
    take = partial(
        import_upload,
        state.context,
        body.read,
        get_coding(request),
        zone=own_zone,
        cluster=cluster or "",
        day_zero=first_day,
        caller=get_caller(request),
    )
    taken = await take_in_turn(state, body, take)
    return make_json_response(taken.to_dict(), 200)


def _parse_query_value(name: str, read: Callable[[str], T], text: str) -> T:
    """A value of the query. Raises :class:`Unprocessable`, which names its place."""
    try:
        return read(text)
    except UsageError as error:
        place = Place(f"query/{name}", "cannot be read")
        raise Unprocessable(str(error), hint=f"leave {name} out", places=(place,)) from error


checking = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)


@checking.post(
    "/checks",
    "Send results of checks of nodes",
    {200: ("What was read, and what was news.", TakenChecks)},
    body=describe_binary_body(
        "What the tool printed, byte for byte. Content-Encoding gzip or zstd, .gz, .zst, .xz,"
        " .bz2 are fine.",
        BINARY,
        "text/plain",
        "application/json",
    ),
)
async def send_checks(
    request: Request,
    node: NodeName = None,
    at: Annotated[
        Since | None, Query(description="When they were taken; left out: now, as far as known.")
    ] = None,
    cluster: OfCluster = None,
    busbw_gbps: BusBandwidth = None,
) -> Response:
    """`dcgmi diag -j`, `nvidia-smi -q [-x]`, NCCL tests, `ibstat`, `perfquery`,
    `ibqueryerrors`, `sinfo -R`, `scontrol show node`, or host checks of one's own. Known by its
    content; the same results again change nothing.
    """
    state = get_state(request)
    target = CheckTarget(node, at, cluster or "", busbw_gbps, get_caller(request))
    body = UploadBody(request, MAX_BYTES)
    taken = await take_in_turn(
        state, body, partial(take_checks, state.context, target, body.read, get_coding(request))
    )
    return make_json_response(taken.to_dict(), 200)


measuring = Routes("/v1/fleet", "fleet", Scope.INGEST, paced=False)


@measuring.post(
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
    or a table. Known by its content; the same samples again change nothing.
    """
    state = get_state(request)
    target = TelemetryTarget(node, cluster or "", get_caller(request))
    body = UploadBody(request, state.context.settings.max_artifact_bytes)
    taken = await take_in_turn(
        state, body, partial(take_telemetry, state.context, target, body.read, get_coding(request))
    )
    return make_json_response(taken.to_dict(), 200)
