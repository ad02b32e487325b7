"""The resolution of an incident: what a person says that it turned out to be."""

from urllib.parse import quote

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response

from triage.api.access import Scope, actor_of
from triage.api.answers.json import as_json
from triage.api.description.described import json_body
from triage.api.requests.body import read_whole
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.shapes import only, text_in
from triage.api.requests.strict_json import object_from
from triage.api.requests.values import one_id, one_name
from triage.api.routers.incidents import LISTED, PREFIX, TAG, incident_of
from triage.api.routes import Routes
from triage.api.state import state_of
from triage.services.incidents.resolve import resolve
from triage.store.views import ResolutionView

routes = Routes(PREFIX, TAG, Scope.READ)


@routes.post(
    "/{id}/resolution",
    "Say what it turned out to be",
    {201: ("Kept; said again, replaced.", ResolutionView)},
    body=json_body("NewResolution"),
    repeatable=True,
    refuses=(404,),
)
async def resolve_incident(request: Request, id: str) -> Response:  # noqa: A002
    """The label that the accuracy of the service is measured against."""
    ctx = state_of(request).context
    incident_id = one_id(id, "incident", LISTED)
    body = await read_whole(request, ctx.settings.max_hook_bytes)

    def as_answer(kept: ResolutionView) -> Response:
        return as_json(kept.to_dict(), 201, {"Location": f"/v1/incidents/{quote(incident_id)}"})

    def act(keeper: Keeper) -> Response:
        with ctx.database.reading() as session:
            incident_of(request, session, incident_id)
        label = object_from(body)
        only(label, ("category", "node", "note"), ("category",))
        node = text_in(label, "node")
        kept = resolve(
            ctx,
            incident_id,
            text_in(label, "category") or "",
            None if node is None else one_name(node, "body/node"),
            text_in(label, "note"),
            actor_of(request),
            also=lambda session, kept: keeper.answer(session, as_answer(kept)),
        )
        return as_answer(kept)

    return await to_thread.run_sync(once, request, body, act)
