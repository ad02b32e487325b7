"""Erasing on request: an incident, or one of its files, for good."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_actor
from triage.api.requests.values import check_id
from triage.api.routers.incidents import LISTED, TAG
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.services.retention.erase import delete_artifact, delete_incident

routes = Routes("/v1", TAG, Scope.ADMIN)
_Reason = Annotated[str, Query(description="Why; the audit trail keeps it.", max_length=1000)]


@routes.delete("/incidents/{id}", "Erase an incident", "Gone.", refuses=(404, 409, 410, 507))
def erase_incident(request: Request, id: str, reason: _Reason = "") -> Response:  # noqa: A002
    """Its files, what was read of them, answers and messages. Who was told of it is told."""
    incident_id = check_id(id, "incident", LISTED)
    delete_incident(get_state(request).context, incident_id, get_actor(request), reason)
    return Response(status_code=204)


@routes.delete("/artifacts/{id}", "Erase one file", "Gone.", refuses=(404, 409, 410, 507))
def erase_artifact(request: Request, id: str, reason: _Reason = "") -> Response:  # noqa: A002
    """Its incident is answered again without it; the same file is not taken again."""
    artifact_id = check_id(id, "artifact", "GET /v1/incidents/{id}/artifacts lists them")
    delete_artifact(get_state(request).context, artifact_id, get_actor(request), reason)
    return Response(status_code=204)
