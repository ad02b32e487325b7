"""The hook of a job that ended, whatever the end."""

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from triage.api.access import Scope, admitted
from triage.api.answers.json import as_json
from triage.api.description.described import answers, json_body, scoped
from triage.api.description.schemas import EndedJob
from triage.api.requests.body import read_whole
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.strict_json import object_from
from triage.api.requests.values import known_query
from triage.api.routers.hooks import REFUSALS
from triage.api.state import state_of
from triage.clock import utc_now
from triage.fleet.services.job_ended import end_from, ended

__all__ = ["router"]

router = APIRouter(
    prefix="/v1/hooks",
    tags=["hooks"],
    dependencies=[Depends(admitted(Scope.INGEST)), Depends(known_query())],
)


@router.post(
    "/job-ended",
    status_code=202,
    summary="A job has ended",
    responses=answers(*REFUSALS, ok={202: ("What became of its run.", EndedJob)}),
    openapi_extra=scoped(
        Scope.INGEST,
        json_body(
            "JobEnded",
            {
                "job": {
                    "job_id": "4711", "cluster": "a", "started_at": "2026-11-21T01:00:00Z",
                    "ended_at": "2026-11-21T03:14:15Z", "state": "COMPLETED",
                    "nodes": ["n0", "n1"], "gpus_per_node": 8,
                },
                "slurm": {
                    "source": "slurm", "job_id": 4711, "nodelist": "gpu[001-128,130]",
                    "SLURM_JOB_START_TIME": "1795222800", "exit_code": "0:0",
                    "gpus_per_node": 8,
                },
            },
        ),
        repeatable=True,
    ),
)  # fmt: skip
async def job_ended(request: Request) -> Response:
    """Keeps when and where a job ran, and how it ended. Opens no incident.

    The same (`cluster`, `job_id`, `started_at`) is the same run; without `started_at` it is
    the run of the job that was going on.
    """
    state = state_of(request)
    body = await read_whole(request, state.context.settings.max_hook_bytes)

    def act(_keeper: Keeper) -> Response:
        return as_json(ended(state.context, end_from(object_from(body), utc_now())), 202)

    return await to_thread.run_sync(once, request, body, act)
