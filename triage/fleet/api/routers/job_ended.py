"""The hook of a job that ended, whatever the end."""

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import describe_json_body
from triage.api.requests.body import read_whole
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.strict_json import parse_object
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.fleet.services.exposure.job_ended import EndedJob, keep_job_end, parse_end

routes = Routes("/v1/hooks", "hooks", Scope.INGEST)


@routes.post(
    "/job-ended",
    "A job has ended",
    {202: ("What became of its run.", EndedJob)},
    body=describe_json_body("JobEnded"),
    repeatable=True,
)
async def job_ended(request: Request) -> Response:
    """Keeps when and where a job ran, and how it ended. Opens no incident.

    The same (`cluster`, `job_id`, `started_at`) is the same run; without `started_at` it is
    the run of the job that was going on.
    """
    state = get_state(request)
    body = await read_whole(request, state.context.settings.max_hook_bytes)

    def act(_keeper: Keeper) -> Response:
        end = parse_end(parse_object(body), read_utc_now(), get_caller(request))
        return make_json_response(keep_job_end(state.context, end).to_dict(), 202)

    return await to_thread.run_sync(answer_once, request, body, act)
