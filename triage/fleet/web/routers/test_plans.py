"""Test plans: which nodes to test together, results of the groups, and the answer."""

from collections.abc import Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote

from anyio import to_thread
from fastapi import Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, actor_of, caller_of
from triage.api.requests.values import Name, known_query, one_id, one_name
from triage.api.state import state_of
from triage.domain.hosts import expand
from triage.errors import Unprocessable
from triage.fleet.api.test_plan_bodies import KINDS, wish_in
from triage.fleet.api.test_plan_shapes import head_of, plan_facts
from triage.fleet.isolation.plan import GroupOutcome
from triage.fleet.render.isolation_words import (
    commands,
    each_alone,
    headline,
    rests_on,
    waiting_groups,
)
from triage.fleet.render.words import Wire
from triage.fleet.services.isolation.plans import (
    GroupResults,
    begin_plan,
    enter_results,
    find_plan,
)
from triage.fleet.store import test_plans
from triage.fleet.web.period import Cluster
from triage.web.access import admit
from triage.web.blank_filters import without_blanks
from triage.web.forms import optional, read_form
from triage.web.pages import page
from triage.web.route import page_router

__all__ = ["router"]

router = page_router("/fleet/test-plans", admit(Scope.READ))
LISTED: Final = 50
# So many rows of a round are shown; the API has all.
MOST_GROUPS: Final = 300
REALS: Final = ("recall", "false_alarm")
WHOLE: Final = ("min_size", "max_size", "max_tests")


@router.get(
    "",
    name="page_test_plans",
    dependencies=[Depends(without_blanks("cluster", "incident", "nodes"))],
)
def all_plans(
    request: Request,
    cluster: Cluster = None,
    incident: Annotated[Name | None, Query()] = None,
    nodes: Annotated[str, Query(max_length=4_000)] = "",
) -> Response:
    """A form that begins a plan, and the plans that there are."""
    with state_of(request).context.database.reading() as session:
        rows = test_plans.newest(session, LISTED, cluster=cluster, incident_id=incident)
    return page(
        request,
        "test_plans.html",
        plans=[head_of(row) for row in rows],
        incident=incident,
        nodes=nodes,
        kinds=KINDS,
        cluster_query="",
        query="",
    )


@router.post("", name="page_begin_test_plan", dependencies=[Depends(known_query())])
async def begin(request: Request) -> Response:
    """A person begins a plan."""
    fields = await read_form(request)
    wish = wish_in(wish_of(fields))

    def work() -> str:
        made = begin_plan(state_of(request).context, wish, caller_of(request), actor_of(request))
        return made.id

    return RedirectResponse(f"/fleet/test-plans/{quote(await to_thread.run_sync(work))}", 303)


def wish_of(fields: dict[str, str]) -> dict[str, Any]:
    """The fields of the form, as the body of a request has them."""
    names = ("nodes", "good", "away", "incident_id", "cluster")
    wish: dict[str, Any] = {name: fields.get(name, "").strip() or None for name in names}
    if place := fields.get("place"):
        rule, _, kind = place.partition(" ")
        if rule not in {"within", "across"}:
            raise Unprocessable("the place is not known", hint="open the page again")
        wish[rule] = kind
    options = {name: number_in(fields[name], float) for name in REALS if fields.get(name)}
    options |= {name: number_in(fields[name], int) for name in WHOLE if fields.get(name)}
    return wish | {"options": options}


def number_in(text: str, kind: type[float] | type[int]) -> float:
    try:
        if len(text) > 20:
            raise ValueError
        return kind(text)
    except ValueError as error:
        raise Unprocessable(f"{text[:20]!r} is no number", hint="go back and change it") from error


@router.get("/{id}", name="page_test_plan", dependencies=[Depends(known_query())])
def one_plan(request: Request, id: str) -> Response:  # noqa: A002
    """The answer so far, the groups to test now, and the rounds before."""
    with state_of(request).context.database.reading() as session:
        found = find_plan(session, one_id(id, "test plan", ""), caller_of(request))
    plan = plan_facts(found)
    waiting = waiting_groups(plan)
    return page(
        request,
        "test_plan.html",
        plan=plan,
        headline=headline(plan),
        rests_on=list(rests_on(plan)),
        waiting=waiting,
        each_alone=each_alone(waiting),
        script=script_of(waiting),
        most_groups=MOST_GROUPS,
        earlier=plan["rounds"][: -1 if waiting else None][::-1],
        cluster_query="",
        query="",
    )


def script_of(waiting: Sequence[Wire]) -> list[str]:
    """The round as a script, side by side."""
    lines = commands(waiting)
    if each_alone(waiting):
        return lines
    files = (f" > {group['id']}.out 2>&1 &" for group in waiting)
    return [f"{line}{file}" for line, file in zip(lines, files, strict=True)] + ["wait"]


@router.post("/{id}/results", name="page_test_results", dependencies=[Depends(known_query())])
async def results(request: Request, id: str) -> Response:  # noqa: A002
    """A person says how the groups went."""
    fields = await read_form(request)
    plan_id = one_id(id, "test plan", "")
    entry = results_of(fields)

    def work() -> None:
        ctx = state_of(request).context
        enter_results(ctx, plan_id, entry, caller_of(request), actor_of(request))

    await to_thread.run_sync(work)
    return RedirectResponse(f"/fleet/test-plans/{quote(plan_id)}#round", 303)


def results_of(fields: dict[str, str]) -> GroupResults:
    """What the form says of the groups. Raises :class:`Unprocessable`."""
    outcomes: dict[str, GroupOutcome] = {}
    for field, outcome in (
        ("failed", GroupOutcome.FAIL),
        ("passed", GroupOutcome.PASS),
        ("not_run", GroupOutcome.NOT_RUN),
    ):
        for group in groups_in(fields.get(field, "")):
            if outcomes.setdefault(group, outcome) is not outcome:
                raise Unprocessable(f"{group} stands in two fields", hint="go back and choose one")
    others = fields.get("others", "")
    if others in set(GroupOutcome):
        outcomes["rest"] = GroupOutcome(others)
    check = optional(fields, "check")
    return GroupResults(
        outcomes,
        missing=fields.get("missing", "").strip(),
        away=fields["away"].strip() if fields.get("away", "").strip() else None,
        check=None if check is None else one_name(check, "body/check"),
        correct=fields.get("correct") == "yes",
    )


def groups_in(text: str) -> list[str]:
    """Names of groups, parted by commas or blanks."""
    try:
        return expand(",".join(text.split()))
    except ValueError as error:
        raise Unprocessable(f"groups: {error}", hint="name them like g3, g[7-9]") from error
