"""Lists: incidents, recurring problems, and what a search finds; every filter is in the address."""

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, TypeVar

from fastapi import Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, get_caller
from triage.api.requests.cursors import (
    make_id_cursor,
    make_time_cursor,
    parse_id_cursor,
    parse_time_cursor,
)
from triage.api.requests.values import CategoryName, Cursor, Name, ProblemRef, StateName
from triage.api.routers.search import SEARCH, Words
from triage.api.state import get_state
from triage.services.search import LEAST_TEXT, search
from triage.store.incidents import incidents, problems
from triage.web.access import admit
from triage.web.pages import page, page_router
from triage.web.requests import drop_blanks

router = page_router("", admit(Scope.READ))
_ROWS = 50
_OF_INCIDENTS = ("job_id", "cluster", "node", "category", "state", "problem")
_OF_PROBLEMS = ("cluster", "node", "category")
T = TypeVar("T")
_Text = Annotated[Name | None, Query()]
_Category = Annotated[CategoryName | None, Query()]


def _answer_list(
    request: Request,
    template: str,
    rows: Sequence[T],
    more: str | None,
    cursor: str | None,
    **filters: str | None,
) -> Response:
    """A page of rows; ``more`` is where the next one begins."""
    asked = {name: value or "" for name, value in filters.items()}
    first = cursor is None
    return page(request, template, rows=rows[:_ROWS], more=more, first=first, asked=asked)


@router.get("/", name="page_home")
def home() -> Response:
    """The list of incidents is the first page."""
    return RedirectResponse("/incidents", 303)


@router.get(
    "/incidents", name="page_incidents", dependencies=[Depends(drop_blanks(*_OF_INCIDENTS))]
)
def incident_list(
    request: Request,
    job_id: _Text = None,
    cluster: _Text = None,
    node: _Text = None,
    category: _Category = None,
    state: Annotated[StateName | None, Query()] = None,
    problem: Annotated[ProblemRef | None, Query()] = None,
    cursor: Cursor = None,
) -> Response:
    """The newest incidents first."""
    before = parse_time_cursor("incidents", cursor)
    of_cluster = get_caller(request).asks(cluster)
    with get_state(request).context.database.reading() as session:
        rows = incidents.list_incidents(
            session,
            job_id=job_id,
            cluster=of_cluster,
            node=node,
            category=category,
            state=state,
            problem=problem,
            before=before,
            limit=_ROWS + 1,
        )
    last = rows[_ROWS - 1] if rows[_ROWS:] else None
    more = None if last is None else make_time_cursor("incidents", last.created_at, last.id)
    values = (job_id, cluster, node, category, state, problem)
    filters = dict(zip(_OF_INCIDENTS, values, strict=True))
    return _answer_list(request, "incidents.html", rows, more, cursor, **filters)


@router.get("/problems", name="page_problems", dependencies=[Depends(drop_blanks(*_OF_PROBLEMS))])
def list_problems(
    request: Request,
    cluster: _Text = None,
    node: _Text = None,
    category: _Category = None,
    cursor: Cursor = None,
) -> Response:
    """The problems that were seen last first."""
    before = parse_time_cursor("problems", cursor)
    of_cluster = get_caller(request).asks(cluster)
    with get_state(request).context.database.reading() as session:
        rows = problems.list_problems(
            session,
            cluster=of_cluster,
            node=node,
            category=category,
            before=before,
            limit=_ROWS + 1,
        )
    last = rows[_ROWS - 1] if rows[_ROWS:] else None
    more = None if last is None else make_time_cursor("problems", last.last_seen, last.id)
    filters = {"cluster": cluster, "node": node, "category": category}
    return _answer_list(request, "problems.html", rows, more, cursor, **filters)


@router.get("/search", name="page_search", dependencies=[Depends(drop_blanks("q", "cluster"))])
def search_page(
    request: Request, q: Words | None = None, cluster: _Text = None, cursor: Cursor = None
) -> Response:
    """What was found, exact names first; without a text, what can be searched for."""
    found, older = None, None
    if q is not None:
        after = parse_id_cursor(SEARCH, cursor)
        ctx, caller = get_state(request).context, get_caller(request)
        found, older = search(ctx, q, caller, cluster, after)
    hits = () if found is None else found.hits
    return page(
        request,
        "search.html",
        found=found,
        groups=[(kind, list(group)) for kind, group in groupby(hits, lambda hit: hit.kind)],
        q=q or "",
        asked={"q": q or "", "cluster": cluster or ""},
        first=cursor is None,
        more=None if older is None else make_id_cursor(SEARCH, older),
        least=LEAST_TEXT,
    )
