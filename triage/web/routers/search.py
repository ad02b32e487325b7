"""The search page: one box, and what bears its text, grouped."""

from itertools import groupby
from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.requests.cursors import make_id_cursor, parse_id_cursor
from triage.api.requests.values import Cursor, Name
from triage.api.routers.search import SEARCH, Words
from triage.api.state import get_state
from triage.services.search import LEAST_TEXT, search
from triage.web.access import admit
from triage.web.pages import page
from triage.web.requests import drop_blanks
from triage.web.route import page_router

router = page_router("", admit(Scope.READ))


@router.get("/search", name="page_search", dependencies=[Depends(drop_blanks("q", "cluster"))])
def search_page(
    request: Request,
    q: Words | None = None,
    cluster: Annotated[Name | None, Query()] = None,
    cursor: Cursor = None,
) -> Response:
    """What was found, exact names first; without a text, what can be searched for."""
    found, older = None, None
    if q is not None:
        found, older = search(
            get_state(request).context,
            q,
            get_caller(request),
            cluster,
            parse_id_cursor(SEARCH, cursor),
        )
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
