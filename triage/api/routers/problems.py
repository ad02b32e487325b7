"""Recurring problems: incidents that are the same kind of failure, merged and split by hand."""

from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, get_actor, get_caller
from triage.api.answers.json import make_json_response
from triage.api.description.described import describe_json_body
from triage.api.description.shapes import make_shape, page
from triage.api.requests.body import JsonAsked
from triage.api.requests.cursors import Paged, parse_time_cursor
from triage.api.requests.strict_json import check_keys, get_text, get_texts
from triage.api.requests.values import CategoryName, Name, Since, check_id
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.recurrence import RecurringProblem
from triage.errors import NotFound
from triage.services.incidents.problems import (
    LISTED,
    find_problem,
    merge_problems,
    split_problem,
)
from triage.store.incidents import incidents, problems
from triage.store.views import IncidentView

routes = Routes("/v1/problems", "problems", Scope.READ)
_MOST_INCIDENTS = 50
_PAGE = page(RecurringProblem, "problems")
_ONE = make_shape(
    "OneRecurringProblem",
    RecurringProblem,
    incidents=Annotated[list[IncidentView], "The newest 50, newest first."],
)


def _find(request: Request, session: Session, problem_id: str) -> RecurringProblem:
    """The problem of this id, where the token reaches it. Raises :class:`NotFound`."""
    found = find_problem(session, check_id(problem_id, "problem", LISTED))
    if not get_caller(request).sees(found.cluster):
        raise NotFound("there is no such problem", hint=LISTED)
    return found


@routes.get("", "List recurring problems", ("The last seen first.", _PAGE), refuses=(404,))
def list_problems(
    request: Request,
    paging: Paged,
    cluster: Annotated[Name | None, Query(description="This cluster alone.")] = None,
    node: Annotated[Name | None, Query(description="First suspect of an incident.")] = None,
    category: Annotated[CategoryName | None, Query(description="Of an incident.")] = None,
    since: Annotated[Since | None, Query(description="Seen then or later.")] = None,
) -> Response:
    """Each with its nodes, and how its incidents were resolved."""
    of_cluster = get_caller(request).asks(cluster)
    with get_state(request).context.database.reading() as session:
        rows = problems.list_problems(
            session,
            cluster=of_cluster,
            since=since,
            category=category,
            node=node,
            before=parse_time_cursor("problems", paging.cursor),
            limit=paging.num_rows,
        )
    return paging.answer("problems", rows, "last_seen")


@routes.get("/{id}", "One recurring problem", ("With its incidents.", _ONE), refuses=(404,))
def show_problem(request: Request, id: str) -> Response:  # noqa: A002
    """`GET /v1/incidents?problem=` gives all of its incidents, in pages."""
    with get_state(request).context.database.reading() as session:
        found = _find(request, session, id)
        of_it = incidents.list_incidents(session, problem=found.id, limit=_MOST_INCIDENTS)
    return make_json_response({**found.to_dict(), "incidents": [one.to_dict() for one in of_it]})


@routes.post(
    "/{id}/merge",
    "Make two problems one",
    {200: ("The problem that both are now.", RecurringProblem)},
    body=describe_json_body("ProblemMerge"),
    refuses=(404, 409),
)
def merge(request: Request, id: str, asked: JsonAsked) -> Response:  # noqa: A002
    """The incidents of the other are of this one, and stay so when all are grouped anew."""
    ctx = get_state(request).context
    check_keys(asked, ("problem",), ("problem",))
    with ctx.database.reading() as session:
        one = _find(request, session, id)
        other = _find(request, session, get_text(asked, "problem") or "")
    return make_json_response(merge_problems(ctx, one.id, other.id, get_actor(request)).to_dict())


@routes.post(
    "/{id}/split",
    "Make a problem of its own of some incidents",
    {201: ("The new problem.", RecurringProblem)},
    body=describe_json_body("ProblemSplit"),
    refuses=(404,),
)
def split(request: Request, id: str, asked: JsonAsked) -> Response:  # noqa: A002
    """These and the others are never put together again by themselves."""
    ctx = get_state(request).context
    check_keys(asked, ("incidents",), ("incidents",))
    with ctx.database.reading() as session:
        whole = _find(request, session, id)
    parted = get_texts(asked, "incidents") or ()
    made = split_problem(ctx, whole.id, parted, get_actor(request))
    return make_json_response(made.to_dict(), 201, {"Location": f"/v1/problems/{quote(made.id)}"})
