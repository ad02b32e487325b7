"""The list of incidents; every filter stands in the address."""

from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, get_caller
from triage.api.requests.cursors import make_time_cursor, parse_time_cursor
from triage.api.requests.values import CategoryName, Cursor, Name, ProblemRef, StateName
from triage.api.state import get_state
from triage.store.incidents import incidents
from triage.web.access import admit
from triage.web.pages import page
from triage.web.requests import drop_blanks
from triage.web.route import page_router

router = page_router("", admit(Scope.READ))
_ROWS = 50
_FILTERS = ("job_id", "cluster", "node", "category", "state", "problem")


@router.get("/", name="page_home")
def home() -> Response:
    """The list is the first page."""
    return RedirectResponse("/incidents", 303)


@router.get("/incidents", name="page_incidents", dependencies=[Depends(drop_blanks(*_FILTERS))])
def incident_list(
    request: Request,
    job_id: Annotated[Name | None, Query()] = None,
    cluster: Annotated[Name | None, Query()] = None,
    node: Annotated[Name | None, Query()] = None,
    category: Annotated[CategoryName | None, Query()] = None,
    state: Annotated[StateName | None, Query()] = None,
    problem: Annotated[ProblemRef | None, Query()] = None,
    cursor: Cursor = None,
) -> Response:
    """The newest first."""
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
    shown = rows[:_ROWS]
    filters = {
        "job_id": job_id,
        "cluster": cluster,
        "node": node,
        "category": category,
        "state": state,
        "problem": problem,
    }
    return page(
        request,
        "incidents.html",
        rows=shown,
        more=make_time_cursor("incidents", shown[-1].created_at, shown[-1].id)
        if rows[_ROWS:]
        else None,
        first=cursor is None,
        asked={name: value or "" for name, value in filters.items()},
    )
