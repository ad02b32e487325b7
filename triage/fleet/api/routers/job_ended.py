"""The hook of a job that ended, whatever the end."""

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope, caller_of
from triage.api.answers.json import as_json
from triage.api.description.described import json_body
from triage.api.requests.body import read_whole
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.strict_json import object_from
from triage.api.routes import Routes
from triage.api.state import state_of
from triage.clock import utc_now
from triage.fleet.services.exposure.job_ended import EndedJob, end_from, ended

routes = Routes("/v1/hooks", "hooks", Scope.INGEST)


@routes.post(
    "/job-ended",
    "A job has ended",
    {202: ("What became of its run.", EndedJob)},
    body=json_body("JobEnded"),
    repeatable=True,
)
async def job_ended(request: Request) -> Response:
    """Keeps when and where a job ran, and how it ended. Opens no incident.

    The same (`cluster`, `job_id`, `started_at`) is the same run; without `started_at` it is
    the run of the job that was going on.
    """
    state = state_of(request)
    body = await read_whole(request, state.context.settings.max_hook_bytes)

    def act(_keeper: Keeper) -> Response:
        end = end_from(object_from(body), utc_now(), caller_of(request))
        return as_json(ended(state.context, end).to_dict(), 202)

    return await to_thread.run_sync(once, request, body, act)
