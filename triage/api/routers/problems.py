"""Recurring problems: incidents that are the same kind of failure, merged and split by hand."""

from typing import Annotated, Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, get_actor, get_caller
from triage.api.answers.json import make_json_response, page_of_rows
from triage.api.description.described import describe_json_body
from triage.api.description.shapes import make_shape, page, select_keys
from triage.api.requests.body import read_whole
from triage.api.requests.cursors import make_time_cursor, parse_time_cursor
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.shapes import check_keys, get_text, get_texts
from triage.api.requests.strict_json import parse_object
from triage.api.requests.values import CategoryName, Cursor, Limit, Name, Since, check_id
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.recurrence import ProblemIncident, RecurringProblem
from triage.errors import NotFound
from triage.services.incidents.problems import (
    LISTED,
    find_problem,
    merge_problems,
    split_problem,
)
from triage.store.incidents import problems

routes = Routes("/v1/problems", "problems", Scope.READ)
_MOST_INCIDENTS = 200
_PAGE = page(RecurringProblem, "problems")
_ONE = make_shape(
    "OneRecurringProblem",
    RecurringProblem,
    incidents=Annotated[list[ProblemIncident], "The newest 200, newest first."],
)
# A kept answer outlives a file that is erased, so this one quotes none.
_CHANGED = select_keys(
    "ChangedProblem",
    "A problem that a person has changed.",
    RecurringProblem,
    ("id", "cluster", "count", "first_seen", "last_seen"),
)


def _show_changed(problem: RecurringProblem) -> dict[str, Any]:
    shown = problem.to_dict()
    return {key: shown[key] for key in _CHANGED.hints}


def _find(request: Request, session: Session, problem_id: str) -> RecurringProblem:
    """The problem of this id, where the token reaches it. Raises :class:`NotFound`."""
    found = find_problem(session, check_id(problem_id, "problem", LISTED))
    if not get_caller(request).sees(found.cluster):
        raise NotFound("there is no such problem", hint=LISTED)
    return found


@routes.get("", "List recurring problems", ("The last seen first.", _PAGE), refuses=(404,))
def list_problems(
    request: Request,
    cluster: Annotated[Name | None, Query(description="This cluster alone.")] = None,
    node: Annotated[Name | None, Query(description="First suspect of an incident.")] = None,
    category: Annotated[CategoryName | None, Query(description="Of an incident.")] = None,
    since: Annotated[Since | None, Query(description="Seen then or later.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Each with its nodes, and how its incidents were resolved."""
    before = parse_time_cursor("problems", cursor)
    of_cluster = get_caller(request).asks(cluster)
    with get_state(request).context.database.reading() as session:
        rows = problems.list_problems(
            session,
            cluster=of_cluster,
            since=since,
            category=category,
            node=node,
            before=before,
            limit=limit + 1,
        )

    def make_cursor(row: RecurringProblem) -> str:
        return make_time_cursor("problems", row.last_seen, row.id)

    return page_of_rows(request, rows, limit, make_cursor, RecurringProblem.to_dict)


@routes.get("/{id}", "One recurring problem", ("With its incidents.", _ONE), refuses=(404,))
def show_problem(request: Request, id: str) -> Response:  # noqa: A002
    """`GET /v1/incidents?problem=` gives all of its incidents, in pages."""
    with get_state(request).context.database.reading() as session:
        found = _find(request, session, id)
        of_it = problems.list_problem_incidents(session, found.id, _MOST_INCIDENTS)
    return make_json_response({**found.to_dict(), "incidents": [one.to_dict() for one in of_it]})


@routes.post(
    "/{id}/merge",
    "Make two problems one",
    {200: ("The problem that both are now.", _CHANGED)},
    body=describe_json_body("ProblemMerge"),
    repeatable=True,
    refuses=(404, 409),
)
async def merge(request: Request, id: str) -> Response:  # noqa: A002
    """The incidents of the other are of this one, and stay so when all are grouped anew."""
    body = await read_whole(request, get_state(request).context.settings.max_hook_bytes)

    def act(keeper: Keeper) -> Response:
        ctx = get_state(request).context
        asked = parse_object(body)
        check_keys(asked, ("problem",), ("problem",))
        with ctx.database.reading() as session:
            one = _find(request, session, id)
            other = _find(request, session, get_text(asked, "problem") or "")
        merged = merge_problems(
            ctx,
            one.id,
            other.id,
            get_actor(request),
            lambda session, kept: keeper.answer(session, make_json_response(_show_changed(kept))),
        )
        return make_json_response(_show_changed(merged))

    return await to_thread.run_sync(answer_once, request, body, act)


@routes.post(
    "/{id}/split",
    "Make a problem of its own of some incidents",
    {201: ("The new problem.", _CHANGED)},
    body=describe_json_body("ProblemSplit"),
    repeatable=True,
    refuses=(404,),
)
async def split(request: Request, id: str) -> Response:  # noqa: A002
    """These and the others are never put together again by themselves."""
    body = await read_whole(request, get_state(request).context.settings.max_hook_bytes)

    def make_answer(made: RecurringProblem) -> Response:
        where = {"Location": f"/v1/problems/{quote(made.id)}"}
        return make_json_response(_show_changed(made), 201, where)

    def act(keeper: Keeper) -> Response:
        ctx = get_state(request).context
        asked = parse_object(body)
        check_keys(asked, ("incidents",), ("incidents",))
        with ctx.database.reading() as session:
            whole = _find(request, session, id)
        made = split_problem(
            ctx,
            whole.id,
            get_texts(asked, "incidents") or (),
            get_actor(request),
            lambda session, made: keeper.answer(session, make_answer(made)),
        )
        return make_answer(made)

    return await to_thread.run_sync(answer_once, request, body, act)
