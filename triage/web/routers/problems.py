"""The list of recurring problems; every filter stands in the address."""

from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.requests.cursors import make_time_cursor, parse_time_cursor
from triage.api.requests.values import CategoryName, Cursor, Name
from triage.api.state import get_state
from triage.store.incidents import problems
from triage.web.access import admit
from triage.web.pages import page
from triage.web.requests import drop_blanks
from triage.web.route import page_router

router = page_router("/problems", admit(Scope.READ))
_ROWS = 50
_FILTERS = ("cluster", "node", "category")


@router.get("", name="page_problems", dependencies=[Depends(drop_blanks(*_FILTERS))])
def list_problems(
    request: Request,
    cluster: Annotated[Name | None, Query()] = None,
    node: Annotated[Name | None, Query()] = None,
    category: Annotated[CategoryName | None, Query()] = None,
    cursor: Cursor = None,
) -> Response:
    """The last seen first."""
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
    shown = rows[:_ROWS]
    filters = {"cluster": cluster, "node": node, "category": category}
    return page(
        request,
        "problems.html",
        rows=shown,
        more=make_time_cursor("problems", shown[-1].last_seen, shown[-1].id)
        if rows[_ROWS:]
        else None,
        first=cursor is None,
        asked={name: value or "" for name, value in filters.items()},
    )
