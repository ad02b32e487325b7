"""Test plans: which nodes to test together, and the results of the groups."""

from typing import Annotated, Final
from urllib.parse import quote

import orjson
from anyio import to_thread
from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, actor_of, caller_of
from triage.api.answers.json import JSON, as_json, page_of_rows, tagged
from triage.api.description.described import json_body
from triage.api.description.shapes import page
from triage.api.requests.body import read_whole
from triage.api.requests.cursors import after_time, time_cursor
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.strict_json import object_from
from triage.api.requests.values import Cursor, Limit, Name, one_id
from triage.api.routes import Routes
from triage.api.state import state_of
from triage.fleet.api.test_plan_bodies import results_in, wish_in
from triage.fleet.api.test_plan_shapes import PLAN, PLAN_HEAD, head_of, plan_facts
from triage.fleet.api.values import ClusterName
from triage.fleet.services.isolation.plans import begin_plan, enter_results, find_plan
from triage.fleet.store import test_plans

__all__ = ["routes"]

LISTED: Final = "GET /v1/fleet/test-plans lists them"
routes = Routes("/v1/fleet/test-plans", "fleet", Scope.READ)


@routes.post(
    "",
    "Plan tests of groups",
    {201: ("The plan with its first round.", PLAN)},
    body=json_body("NewTestPlan"),
    repeatable=True,
    refuses=(404,),
)
async def begin(request: Request) -> Response:
    """Which nodes to test together, from a host list or from the suspects of an incident.

    The groups of a round run at the same time. Send their results, and the next round follows.
    """
    ctx = state_of(request).context
    body = await read_whole(request, ctx.settings.max_hook_bytes)

    def act(_keeper: Keeper) -> Response:
        wish = wish_in(object_from(body))
        made = begin_plan(ctx, wish, caller_of(request), actor_of(request))
        where = {"Location": f"/v1/fleet/test-plans/{quote(made.id)}"}
        return as_json(plan_facts(made), 201, where)

    return await to_thread.run_sync(once, request, body, act)


@routes.get("", "List test plans", ("Newest first.", page(PLAN_HEAD, "test plans")), refuses=(404,))
def list_plans(
    request: Request,
    incident: Annotated[Name | None, Query(description="Begun from this incident.")] = None,
    cluster: ClusterName = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """How each stands, without its groups."""
    before = after_time("test-plans", cursor)
    with state_of(request).context.database.reading() as session:
        rows = test_plans.newest(
            session, limit + 1, cluster=cluster, incident_id=incident, before=before
        )
    return page_of_rows(
        request, rows, limit, lambda row: time_cursor("test-plans", row.created_at, row.id), head_of
    )


@routes.get("/{id}", "One test plan", ("The plan.", PLAN), etag=True, refuses=(404,))
def one_plan(request: Request, id: str) -> Response:  # noqa: A002
    """Its rounds with their groups as host lists, the results, and the answer so far."""
    with state_of(request).context.database.reading() as session:
        found = find_plan(session, one_id(id, "test plan", LISTED), caller_of(request))
    return tagged(request, orjson.dumps(plan_facts(found)), JSON)


@routes.post(
    "/{id}/results",
    "Send results of test groups",
    {200: ("The plan, with its next round where the last one is complete.", PLAN)},
    body=json_body("TestResults"),
    repeatable=True,
    refuses=(404,),
)
async def send_results(request: Request, id: str) -> Response:  # noqa: A002
    """`pass`, `fail` or `not_run` by group; `rest` is every other group of the round.

    The same results again change nothing; another one needs `correct`.
    """
    ctx = state_of(request).context
    plan_id = one_id(id, "test plan", LISTED)
    body = await read_whole(request, ctx.settings.max_hook_bytes)

    def act(_keeper: Keeper) -> Response:
        with ctx.database.reading() as session:
            find_plan(session, plan_id, caller_of(request))
        results = results_in(object_from(body))
        found = enter_results(ctx, plan_id, results, caller_of(request), actor_of(request))
        return as_json(plan_facts(found))

    return await to_thread.run_sync(once, request, body, act)
