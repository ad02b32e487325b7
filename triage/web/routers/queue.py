"""The queue: work to be done and messages sent, to see why an answer is late."""

from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, get_actor, get_caller
from triage.api.requests.values import check_id, check_query
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import NotAllowed
from triage.services.notifications.subscribe import resend
from triage.store.uploads import artifacts
from triage.store.work import backlog
from triage.web.access import admit, get_visitor
from triage.web.pages import page, page_router
from triage.web.requests import read_form

if TYPE_CHECKING:
    from models import Work

router = page_router("/queue")
_ROWS = 100


@router.get(
    "", name="page_queue", dependencies=[Depends(admit(Scope.READ)), Depends(check_query())]
)
def queue(request: Request) -> Response:
    """Work with its age, tries and last error; messages to those who may see receivers."""
    if get_caller(request).cluster is not None:
        raise NotAllowed(
            "the queue is of all clusters, and the token is bound to one",
            hint="log in with a token that is not bound",
        )
    visitor = get_visitor(request)
    is_admin = visitor is not None and visitor.may(Scope.ADMIN)
    now = read_utc_now()
    with get_state(request).context.database.reading() as session:
        rows = backlog.list_newest_work(session, _ROWS)
        uploads = {
            row.key: of[0]
            for row in rows
            if row.kind == WorkKind.PARSE and (of := artifacts.find_upload(session, row.key))
        }
        values: dict[str, Any] = {
            "work": [
                (
                    row,
                    row.key if row.kind is WorkKind.ANALYSE else uploads.get(row.key),
                    _describe_work_state(row, now),
                )
                for row in rows
            ],
            "num_by_state": backlog.count_by_state(session),
            "messages": backlog.list_messages(session, _ROWS) if is_admin else [],
            "num_messages": backlog.count_messages(session),
        }
    return page(request, "queue.html", tells=is_admin, now=now, **values)


def _describe_work_state(row: "Work", now: datetime) -> str:
    """``waiting`` for a worker, ``later`` where its time has not come, else its state."""
    if row.state == "waiting":
        return "waiting" if row.not_before <= now else "later"
    return str(row.state)


@router.post(
    "/deliveries/{id}/resend",
    name="page_resend",
    dependencies=[Depends(admit(Scope.ADMIN)), Depends(check_query())],
)
async def send_again(request: Request, id: str) -> Response:  # noqa: A002
    """The same message under the same id, at once."""
    await read_form(request)
    delivery_id = check_id(id, "delivery", "")
    ctx, actor = get_state(request).context, get_actor(request)
    await to_thread.run_sync(resend, ctx, delivery_id, actor)
    return RedirectResponse(f"/queue#{quote(delivery_id)}", 303)
