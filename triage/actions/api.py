"""Routes of acts on nodes, and of the start of a job."""

from typing import Annotated, Final

from anyio import to_thread
from fastapi import Query, Request
from starlette.responses import Response

from triage.actions.services.acts import ActWish, ActWriter, AskedActs, ask
from triage.actions.services.launch import on_launch
from triage.actions.store import acts
from triage.actions.store.acts import NodeActView
from triage.api.access import Scope, get_actor, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import describe_json_body
from triage.api.description.shapes import page
from triage.api.requests.body import JsonBody
from triage.api.requests.cursors import Paged, parse_time_cursor
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.strict_json import check_keys, flag_in, get_text, parse_object
from triage.api.requests.values import (
    IncidentRef,
    Name,
    PathName,
    Wait,
    check_choice,
    check_id,
    check_name,
    make_choice_schema,
    name_in_path,
)
from triage.api.routers.incidents import LISTED as INCIDENTS_LISTED
from triage.api.routers.incidents import find_incident
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.acting import ActionState, Launch, LaunchStatus, Verb
from triage.errors import NotFound, Place, Unprocessable

_LISTED: Final = "GET /v1/actions lists them"
_State = Annotated[str, check_choice(*ActionState), make_choice_schema(*ActionState)]
_Decision = Annotated[str, check_choice("approve", "undo"), make_choice_schema("approve", "undo")]

reading = Routes("/v1", "actions", Scope.READ)
asking = Routes("/v1", "actions", Scope.ADMIN)
launching = Routes("/v1/jobs", "launch", Scope.READ)


@reading.get(
    "/actions", "List acts on nodes", ("Newest first.", page(NodeActView, "acts")), refuses=(404,)
)
def list_actions(
    request: Request,
    paging: Paged,
    cluster: Annotated[Name | None, Query(description="Left out: that of the token.")] = None,
    incident: Annotated[IncidentRef | None, Query(description="Of this incident.")] = None,
    node: Annotated[Name | None, Query(description="On this node.")] = None,
    state: Annotated[_State | None, Query(description="That stand so.")] = None,
) -> Response:
    """What waits for a person, what was done, and what became of it."""
    of_cluster, before = (
        get_caller(request).asks(cluster),
        parse_time_cursor("actions", paging.cursor),
    )
    with get_state(request).context.database.reading() as session:
        rows = acts.list_node_acts(
            session, before=before, limit=paging.num_rows, cluster=of_cluster, incident_id=incident,
            node=node, state=state,
        )  # fmt: skip
    return paging.answer("actions", rows)


@reading.get("/actions/{id}", "One act on a node", ("The act.", NodeActView), refuses=(404,))
def one_action(request: Request, id: str) -> Response:  # noqa: A002
    """How it stands, with the node before and after."""
    action_id = check_id(id, "act", _LISTED)
    with get_state(request).context.database.reading() as session:
        found = acts.find(session, action_id)
    if found is None or not get_caller(request).sees(found.cluster):
        raise NotFound("there is no such act", hint=_LISTED)
    return make_json_response(found.to_dict())


@asking.post(
    "/incidents/{id}/actions",
    "Act on the convicted nodes of an incident",
    {202: ("What is carried out, or would be.", AskedActs)},
    body=describe_json_body("NewAction"),
    repeatable=True,
    refuses=(404,),
)
def act(request: Request, id: str, body: JsonBody) -> Response:  # noqa: A002
    """A person's own act needs no approval; all other rules hold. `node` chooses among those
    convicted; `dry_run` says what would be done; `approve` also goes beyond the budget.
    """
    ctx = get_state(request).context
    incident_id = check_id(id, "incident", INCIDENTS_LISTED)

    def run(keeper: Keeper) -> Response:
        with ctx.database.reading() as session:
            find_incident(request, session, incident_id)
        wish = _parse_wish(parse_object(body))
        with ctx.database.writing() as session:
            writer = ActWriter(session, ctx.settings)
            asked = ask(writer, incident_id, wish, get_actor(request))
            response = make_json_response(asked.to_dict(), 202)
            keeper.answer(session, response)
        return response

    return answer_once(request, body, run)


def _parse_wish(body: dict[str, object]) -> ActWish:
    """Raises :class:`Unprocessable` for a body that is no wish."""
    check_keys(body, ("verb", "node", "dry_run", "approve"), ("verb",))
    verb, node = get_text(body, "verb"), get_text(body, "node")
    if verb is None or verb not in list(Verb):
        raise Unprocessable(
            "the verb is not known",
            hint=f"give one of {', '.join(Verb)}",
            places=(Place("body/verb", "not a verb"),),
        )
    named = None if node is None else check_name(node, "body/node")
    dry_run, approve = flag_in(body, "dry_run"), flag_in(body, "approve")
    return ActWish(Verb(verb), named, dry_run=dry_run, approve=approve)


@asking.post(
    "/actions/{id}/{decision}",
    "Approve a proposal, or take an act back",
    {200: ("The act; of a drain that is taken back, the one that does so.", NodeActView)},
    repeatable=True,
    refuses=(404, 409, 507),
)
def decide(request: Request, id: str, decision: _Decision) -> Response:  # noqa: A002
    """`approve` goes also beyond the budget; all rules are asked again before it is done. `undo`
    takes back a drain whose reason at the scheduler is still ours, and an exclusion.
    """
    ctx, action_id = get_state(request).context, check_id(id, "act", _LISTED)
    step = {"approve": ActWriter.approve, "undo": ActWriter.undo}[decision]

    def run(keeper: Keeper) -> Response:
        with ctx.database.writing() as session:
            writer = ActWriter(session, ctx.settings)
            done = step(writer, writer.find(action_id), get_actor(request))
            response = make_json_response(done.to_dict())
            keeper.answer(session, response)
        return response

    return answer_once(request, b"", run)


@launching.get(
    "/{job_id}/launch",
    "May the job start, and without which nodes",
    ("What the record says of a start now.", Launch),
    refuses=(404, 409),
)
async def launch(
    request: Request,
    job_id: PathName,
    cluster: Annotated[Name | None, Query(description="Left out: that of the token.")] = None,
    wait_s: Wait = 0.0,
) -> Response:
    """For launchers, between attempts. From the record alone: nothing is analysed for it.

    With `wait_s`, answers as soon as the newest failure of the job has settled. A job that
    nobody knows may start, without the nodes that are out.
    """
    state = get_state(request)
    asked = (state.context, get_caller(request), name_in_path("job_id", job_id), cluster)
    found = await to_thread.run_sync(on_launch, *asked)
    if wait_s > 0 and found.status is LaunchStatus.IN_FLIGHT and found.incident_id is not None:
        await state.watch.settled(found.incident_id, wait_s)
        found = await to_thread.run_sync(on_launch, *asked)
    return make_json_response(found.to_dict())
