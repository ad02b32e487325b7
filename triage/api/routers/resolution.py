"""The resolution of an incident: what a person says that it turned out to be.

Erasing on request: an incident, or one of its files, for good.
"""

from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_actor
from triage.api.answers.json import make_json_response
from triage.api.description.described import describe_json_body
from triage.api.requests.body import JsonBody
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.shapes import check_keys, get_text
from triage.api.requests.strict_json import parse_object
from triage.api.requests.values import check_id, check_name
from triage.api.routers.incidents import LISTED, PREFIX, TAG, find_incident
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.services.incidents.resolve import resolve
from triage.services.retention.erase import delete_artifact, delete_incident
from triage.store.views import ResolutionView

erasing = Routes("/v1", TAG, Scope.ADMIN)
_Reason = Annotated[str, Query(description="Why; the audit trail keeps it.", max_length=1000)]


@erasing.delete("/incidents/{id}", "Erase an incident", "Gone.", refuses=(404, 409, 410, 507))
def erase_incident(request: Request, id: str, reason: _Reason = "") -> Response:  # noqa: A002
    """Its files, what was read of them, answers and messages. Who was told of it is told."""
    incident_id = check_id(id, "incident", LISTED)
    delete_incident(get_state(request).context, incident_id, get_actor(request), reason)
    return Response(status_code=204)


@erasing.delete("/artifacts/{id}", "Erase one file", "Gone.", refuses=(404, 409, 410, 507))
def erase_artifact(request: Request, id: str, reason: _Reason = "") -> Response:  # noqa: A002
    """Its incident is answered again without it; the same file is not taken again."""
    artifact_id = check_id(id, "artifact", "GET /v1/incidents/{id}/artifacts lists them")
    delete_artifact(get_state(request).context, artifact_id, get_actor(request), reason)
    return Response(status_code=204)


routes = Routes(PREFIX, TAG, Scope.READ)


@routes.post(
    "/{id}/resolution",
    "Say what it turned out to be",
    {201: ("Kept; said again, replaced.", ResolutionView)},
    body=describe_json_body("NewResolution"),
    repeatable=True,
    refuses=(404,),
)
def resolve_incident(request: Request, id: str, body: JsonBody) -> Response:  # noqa: A002
    """The label that the accuracy of the service is measured against."""
    ctx = get_state(request).context
    incident_id = check_id(id, "incident", LISTED)

    def as_answer(kept: ResolutionView) -> Response:
        return make_json_response(
            kept.to_dict(), 201, {"Location": f"/v1/incidents/{quote(incident_id)}"}
        )

    def act(keeper: Keeper) -> Response:
        with ctx.database.reading() as session:
            find_incident(request, session, incident_id)
        label = parse_object(body)
        check_keys(label, ("category", "node", "note"), ("category",))
        node = get_text(label, "node")
        kept = resolve(
            ctx,
            incident_id,
            get_text(label, "category") or "",
            None if node is None else check_name(node, "body/node"),
            get_text(label, "note"),
            get_actor(request),
            also=lambda session, kept: keeper.answer(session, as_answer(kept)),
        )
        return as_answer(kept)

    return answer_once(request, body, act)
