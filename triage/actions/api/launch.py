"""Before rendezvous: whether a job may start, and without which nodes."""

from typing import Annotated

from anyio import to_thread
from fastapi import Query, Request
from starlette.responses import Response

from triage.actions.services.launch import on_launch
from triage.api.access import Scope, caller_of
from triage.api.answers.json import as_json
from triage.api.requests.paths import name_in_path
from triage.api.requests.values import Name, PathName, Wait
from triage.api.routes import Routes
from triage.api.state import state_of
from triage.domain.launch import Launch, LaunchStatus

__all__ = ["routes"]

routes = Routes("/v1/jobs", "launch", Scope.READ)


@routes.get(
    "/{job_id}/launch",
    "May the job start, and without which nodes",
    ("What the record says of a start now.", Launch),
    refuses=(404, 409),
)
async def launch(
    request: Request,
    job_id: PathName,
    cluster: Annotated[Name | None, Query(description="Left out: that of the token.")] = None,
    node: Annotated[Name | None, Query(description="A node that wants to take part.")] = None,
    wait_s: Wait = 0.0,
) -> Response:
    """For launchers, between attempts. From the record alone: nothing is analysed for it.

    With `wait_s`, answers as soon as the newest failure of the job has settled. A job that
    nobody knows may start, without the nodes that are out. `recommendation.action` and
    `status` are in the words of NVRx's attribution service.
    """
    state = state_of(request)
    job, caller = name_in_path("job_id", job_id), caller_of(request)

    def ask() -> Launch:
        return on_launch(state.context, caller, job, cluster, node)

    found = await to_thread.run_sync(ask)
    if wait_s > 0 and found.status is LaunchStatus.IN_FLIGHT and found.incident_id is not None:
        await state.watch.settled(found.incident_id, wait_s)
        found = await to_thread.run_sync(ask)
    return as_json(found.to_dict())
