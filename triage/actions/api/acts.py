"""Acts on nodes: asked for, approved, refused, undone, listed; the actuator stopped and resumed."""

from collections.abc import Callable
from typing import Annotated, Final

from anyio import to_thread
from fastapi import Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.actions.services import decide
from triage.actions.services.actuator import ActuatorView, how_it_stands
from triage.actions.services.ask import ActWish, AskedActs, ask
from triage.actions.store import actions
from triage.actions.store.actions import NodeActView
from triage.api.access import Scope, actor_of, caller_of
from triage.api.answers.json import as_json, page_of_rows
from triage.api.description.described import json_body
from triage.api.description.shapes import page
from triage.api.requests.body import read_whole
from triage.api.requests.cursors import after_time, time_cursor
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.shapes import flag_in, only, text_in
from triage.api.requests.strict_json import object_from
from triage.api.requests.values import Cursor, IncidentRef, Limit, Name, listed, one_id, one_name
from triage.api.requests.values import one_of as one_of_words
from triage.api.routers.incidents import LISTED as INCIDENTS_LISTED
from triage.api.routers.incidents import incident_of
from triage.api.routes import Routes
from triage.api.state import state_of
from triage.domain.acting import ActionState, Verb
from triage.errors import NotFound, Place, Unprocessable
from triage.services.context import Context

__all__ = ["asking", "reading"]

LISTED: Final = "GET /v1/actions lists them"
StateName = Annotated[str, one_of_words(*ActionState), listed(*ActionState)]
Decide = Callable[..., NodeActView]
TAG: Final = "actions"

reading = Routes("/v1", TAG, Scope.READ)
asking = Routes("/v1", TAG, Scope.ADMIN)


@reading.get(
    "/actions", "List acts on nodes", ("Newest first.", page(NodeActView, "acts")), refuses=(404,)
)
def list_actions(
    request: Request,
    cluster: Annotated[Name | None, Query(description="Left out: that of the token.")] = None,
    incident: Annotated[IncidentRef | None, Query(description="Of this incident.")] = None,
    node: Annotated[Name | None, Query(description="On this node.")] = None,
    state: Annotated[StateName | None, Query(description="That stand so.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """What waits for a person, what was done, and what became of it."""
    before = after_time("actions", cursor)
    with state_of(request).context.database.reading() as session:
        rows = actions.listing(
            session,
            before=before,
            limit=limit + 1,
            cluster=caller_of(request).asks(cluster),
            incident_id=incident,
            node=node,
            state=state,
        )

    def cursor_of(row: NodeActView) -> str:
        return time_cursor("actions", row.created_at, row.id)

    return page_of_rows(request, rows, limit, cursor_of, NodeActView.to_dict)


@reading.get("/actions/{id}", "One act on a node", ("The act.", NodeActView), refuses=(404,))
def one_action(request: Request, id: str) -> Response:  # noqa: A002
    """How it stands, with the node before and after."""
    action_id = one_id(id, "act", LISTED)
    with state_of(request).context.database.reading() as session:
        found = actions.find(session, action_id)
    if found is None or not caller_of(request).sees(found.cluster):
        raise NotFound("there is no such act", hint=LISTED)
    return as_json(found.to_dict())


@reading.get("/actuator", "How acting stands", ("The actuator.", ActuatorView), refuses=(404,))
def actuator(request: Request) -> Response:
    """Mode, budget, what waits, and whether it is halted."""
    ctx = state_of(request).context
    if not caller_of(request).sees(ctx.settings.act_cluster or None):
        raise NotFound("no actuator acts on the token's cluster", hint="ask without a bound token")
    return as_json(how_it_stands(ctx).to_dict())


@asking.post(
    "/incidents/{id}/actions",
    "Act on the convicted nodes of an incident",
    {202: ("What is carried out, or would be.", AskedActs)},
    body=json_body("NewAction"),
    repeatable=True,
    refuses=(404,),
)
async def act(request: Request, id: str) -> Response:  # noqa: A002
    """A person's own act needs no approval; all other rules hold. `node` chooses among those
    convicted; `dry_run` says what would be done; `approve` also goes beyond the budget.
    """
    ctx = state_of(request).context
    incident_id = one_id(id, "incident", INCIDENTS_LISTED)
    body = await read_whole(request, ctx.settings.max_hook_bytes)

    def run(keeper: Keeper) -> Response:
        with ctx.database.reading() as session:
            incident_of(request, session, incident_id)
        wish = wish_in(object_from(body))

        def keep(session: Session, asked: AskedActs) -> None:
            keeper.answer(session, as_json(asked.to_dict(), 202))

        return as_json(ask(ctx, incident_id, wish, actor_of(request), also=keep).to_dict(), 202)

    return await to_thread.run_sync(once, request, body, run)


def wish_in(body: dict[str, object]) -> ActWish:
    """Raises :class:`Unprocessable` for a body that is no wish."""
    only(body, ("verb", "node", "dry_run", "approve"), ("verb",))
    verb, node = text_in(body, "verb"), text_in(body, "node")
    if verb not in set(Verb):
        raise Unprocessable(
            "the verb is not known",
            hint=f"give one of {', '.join(Verb)}",
            places=(Place("body/verb", "not a verb"),),
        )
    return ActWish(
        Verb(verb),
        None if node is None else one_name(node, "body/node"),
        dry_run=flag_in(body, "dry_run"),
        approve=flag_in(body, "approve"),
    )


@asking.post(
    "/actions/{id}/approve",
    "Approve a proposal",
    {200: ("It will be carried out.", NodeActView)},
    repeatable=True,
    refuses=(404, 409, 507),
)
def approve(request: Request, id: str) -> Response:  # noqa: A002
    """Also beyond the budget; all rules are asked again before it is done."""
    return decided(request, id, decide.approve)


@asking.post(
    "/actions/{id}/refuse",
    "Refuse a proposal",
    {200: ("Nothing is done.", NodeActView)},
    repeatable=True,
    refuses=(404, 409, 507),
)
def refuse(request: Request, id: str) -> Response:  # noqa: A002
    """It is not proposed again for this incident."""
    return decided(request, id, decide.refuse)


@asking.post(
    "/actions/{id}/undo",
    "Take an act back",
    {200: ("The act that takes it back; an exclusion itself.", NodeActView)},
    repeatable=True,
    refuses=(404, 409, 507),
)
def undo(request: Request, id: str) -> Response:  # noqa: A002
    """A drain is taken back where its reason at the scheduler is still ours."""
    return decided(request, id, decide.undo)


def decided(request: Request, action_id: str, do: Decide) -> Response:
    ctx: Context = state_of(request).context
    known = one_id(action_id, "act", LISTED)

    def run(keeper: Keeper) -> Response:
        def keep(session: Session, one: NodeActView) -> None:
            keeper.answer(session, as_json(one.to_dict()))

        return as_json(do(ctx, known, actor_of(request), also=keep).to_dict())

    return once(request, b"", run)


@asking.post(
    "/actuator/halt",
    "Stop acting on nodes",
    {200: ("The actuator, halted.", ActuatorView)},
    body=json_body("HaltRequest"),
)
async def halt(request: Request) -> Response:
    """Nothing more is done to nodes until it is resumed."""
    ctx = state_of(request).context
    body = await read_whole(request, ctx.settings.max_hook_bytes)

    def run() -> Response:
        asked = object_from(body)
        only(asked, ("reason",), ())
        decide.halt(ctx, actor_of(request), text_in(asked, "reason") or "")
        return as_json(how_it_stands(ctx).to_dict())

    return await to_thread.run_sync(run)


@asking.post(
    "/actuator/resume",
    "Act on nodes again",
    {200: ("The actuator.", ActuatorView)},
    refuses=(507,),
)
def resume(request: Request) -> Response:
    """Acts that proved wrong before are not counted again."""
    ctx = state_of(request).context
    decide.resume(ctx, actor_of(request))
    return as_json(how_it_stands(ctx).to_dict())
