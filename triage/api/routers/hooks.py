"""Hooks: how a failure, or a sign of one, reaches us."""

from collections.abc import Callable
from urllib.parse import quote

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, admitted
from triage.api.answers.json import as_json
from triage.api.description.described import answers, json_body, scoped
from triage.api.description.schemas import Announced, Heard
from triage.api.requests.body import read_whole
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.strict_json import object_from, value_from
from triage.api.requests.values import known_query
from triage.api.state import state_of
from triage.services.hooks.alertmanager import alert_notices
from triage.services.hooks.cloudevents import BATCH, STRUCTURED, event_notices, events_from
from triage.services.hooks.job_failed import failure_from
from triage.services.hooks.monitoring import hear
from triage.services.hooks.notices import Notices
from triage.services.incidents.announce import announce
from triage.store.views import IncidentView

__all__ = ["REFUSALS", "router"]

router = APIRouter(
    prefix="/v1/hooks",
    tags=["hooks"],
    dependencies=[Depends(admitted(Scope.INGEST)), Depends(known_query())],
)

REFUSALS = (400, 401, 403, 408, 409, 413, 415, 422, 429, 507)


@router.post(
    "/job-failed",
    status_code=202,
    summary="A job has failed",
    responses=answers(*REFUSALS, ok={202: ("The incident, and where to send files.", Announced)}),
    openapi_extra=scoped(
        Scope.INGEST,
        json_body(
            "JobFailed",
            {
                "job": {
                    "job_id": "4711", "cluster": "a", "failed_at": "2026-11-21T03:14:15Z",
                    "nodes": ["n0", "n1"], "gpus_per_node": 8, "expected_artifacts": 20,
                },
                "slurm": {
                    "source": "slurm", "job_id": 4711, "nodelist": "gpu[001-128,130]",
                    "exit_code": "1:0",
                },
            },
        ),
        repeatable=True,
    ),
)  # fmt: skip
async def job_failed(request: Request) -> Response:
    """Opens the incident of a failure, or finds the one that is there.

    The same (`cluster`, `job_id`, `failed_at`) is the same failure; without `failed_at` it is
    the job's unsettled incident.
    """
    state = state_of(request)
    body = await read_whole(request, state.context.settings.max_hook_bytes)

    def act(keeper: Keeper) -> Response:
        def keep(session: Session, found: IncidentView) -> None:
            keeper.answer(session, announced(found))

        failure = failure_from(object_from(body))
        return announced(announce(state.context, failure, also=keep))

    return await to_thread.run_sync(once, request, body, act)


def announced(found: IncidentView) -> Response:
    incident = found.to_dict()
    where = f"incident={quote(found.id)}"
    upload_url = f"/v1/jobs/{quote(found.job_id, safe='')}/bundle?{where}"
    # The incident's own keys stand beside it too: `curl | jq .id` needs no path.
    return as_json(
        {**incident, "incident": incident, "upload_url": upload_url},
        202,
        {"Location": f"/v1/incidents/{quote(found.id)}"},
    )


@router.post(
    "/alertmanager",
    status_code=202,
    summary="Alerts of Alertmanager or Grafana",
    responses=answers(*REFUSALS, ok={202: ("What became of each alert.", Heard)}),
    openapi_extra=scoped(
        Scope.INGEST,
        json_body(
            "Alerts",
            {
                "xid": {
                    "version": "4",
                    "alerts": [
                        {
                            "status": "firing", "fingerprint": "c0ffee0000000001",
                            "startsAt": "2026-11-21T03:14:00Z",
                            "labels": {
                                "alertname": "GpuXid", "node": "n3", "xid": "79",
                                "pci_bus_id": "0000:5d:00.0",
                            },
                            "annotations": {"summary": "GPU has fallen off the bus"},
                        }
                    ],
                }
            },
        ),
        repeatable=True,
    ),
)  # fmt: skip
async def alertmanager(request: Request) -> Response:
    """An alert that a job failed opens its incident; another alert on a node of a failed job
    is a line of that node's log. Resolved alerts are kept out.
    """
    state = state_of(request)
    body = await read_whole(request, state.context.settings.max_hook_bytes)
    return await answered(request, body, lambda: alert_notices(object_from(body)))


@router.post(
    "/cloudevents",
    status_code=202,
    summary="CloudEvents 1.0, such as NVSentinel's health events",
    responses=answers(*REFUSALS, ok={202: ("What became of each event.", Heard)}),
    openapi_extra=scoped(
        Scope.INGEST,
        json_body(
            "CloudEvent",
            {
                "health": {
                    "specversion": "1.0", "id": "5c1f", "source": "nvsentinel://a/healthevents",
                    "type": "com.nvidia.nvsentinel.health.v1",
                    "data": {
                        "healthEvent": {
                            "nodeName": "n3", "checkName": "SysLogsXIDError", "errorCode": ["79"],
                            "isFatal": True, "isHealthy": False,
                            "message": "GPU has fallen off the bus",
                            "generatedTimestamp": "2026-11-21T03:14:00Z",
                            "entitiesImpacted": [
                                {"entityType": "PCI", "entityValue": "0000:5d:00.0"}
                            ],
                        }
                    },
                }
            },
            {
                STRUCTURED: {"schema": {"$ref": "#/components/schemas/CloudEvent"}},
                BATCH: {
                    "schema": {
                        "type": "array",
                        "maxItems": 10_000,
                        "items": {"$ref": "#/components/schemas/CloudEvent"},
                    }
                },
            },
        ),
        repeatable=True,
    ),
)  # fmt: skip
async def cloudevents(request: Request) -> Response:
    """Structured, batched, or with the context in `ce-` headers. A health event on a node of a
    failed job is a line of that node's log; other types are kept out.
    """
    state = state_of(request)
    body = await read_whole(request, state.context.settings.max_hook_bytes)
    content_type = request.headers.get("content-type", "")
    headers = dict(request.headers)

    def notices() -> Notices:
        found = Notices()
        events = events_from(content_type, headers, lambda: value_from(body))
        found.extend([event_notices(event) for event in events])
        return found

    return await answered(request, body, notices)


async def answered(request: Request, body: bytes, read: Callable[[], Notices]) -> Response:
    # The same notice again changes nothing.
    def act(_keeper: Keeper) -> Response:
        heard = hear(state_of(request).context, read())
        return as_json(
            {
                "accepted": heard.accepted,
                "ignored": [{"fingerprint": one.ref, "why": one.why} for one in heard.ignored],
                "incidents": [incident.to_dict() for incident in heard.incidents],
                "truncated": heard.truncated,
            },
            202,
        )

    return await to_thread.run_sync(once, request, body, act)
