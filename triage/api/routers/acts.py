"""Acts: who changed what."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope
from triage.api.description.shapes import make_shape, page
from triage.api.requests.cursors import Paged, parse_row_cursor
from triage.api.requests.values import Name, Since
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.store.access import audit
from triage.store.access.audit import AuditView

routes = Routes("/v1/audit", "audit", Scope.ADMIN)

_ACT = make_shape("Act", AuditView)


@routes.get("", "List acts", ("Newest first.", page(_ACT, "acts")))
def list_acts(
    request: Request,
    paging: Paged,
    actor: Annotated[Name | None, Query(description="Id of a token, or `local`.")] = None,
    action: Annotated[Name | None, Query(description="Such as `taint token`.")] = None,
    subject: Annotated[Name | None, Query(description="Id of what it was done to.")] = None,
    since: Annotated[Since | None, Query(description="Done then or later.")] = None,
) -> Response:
    """What changed answers or settings, and by which token: incidents opened, hooks, imports,
    tokens, receivers, callbacks, deletions, logins. Files carry their token themselves.
    """
    with get_state(request).context.database.reading() as session:
        rows = audit.list_acts(
            session,
            paging.num_rows,
            before=parse_row_cursor("audit", paging.cursor),
            actor=actor,
            action=action,
            subject=subject,
            since=since,
        )
    return paging.answer("audit", rows, "at")
