"""Uploading without any client: a folder or a tar, dropped or chosen.

The script of the page packs what was dropped into one tar and streams it. It ends on the page of
the incident.
"""

from functools import partial
from typing import Annotated
from urllib.parse import quote

from anyio import to_thread
from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.answers.problems import answer_refusal
from triage.api.requests.body import UploadBody
from triage.api.requests.values import Name, check_query
from triage.api.routers.uploads import take_in_turn
from triage.api.state import get_state
from triage.clock import read_utc_now
from triage.errors import Refusal
from triage.services.context import Context
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.store.incidents import settling
from triage.web.access import admit, check_csrf
from triage.web.pages import page, page_router

router = page_router("/upload", admit(Scope.INGEST), check_query("job_id", "cluster"))
_CSRF_HEADER = "x-triage-word"


@router.get("", name="page_upload")
def upload_form(
    request: Request,
    job_id: Annotated[Name | None, Query()] = None,
    cluster: Annotated[Name | None, Query()] = None,
) -> Response:
    """The form; ``job_id`` and ``cluster`` are filled in, and a bound token's cluster is fixed."""
    bound = get_caller(request).cluster
    return page(
        request,
        "upload.html",
        job_id=job_id or "",
        cluster=bound or cluster or "",
        is_bound=bound is not None,
        limit=get_state(request).context.settings.max_bundle_bytes,
    )


@router.post("/bundle", name="page_bundle")
async def uploaded_bundle(
    request: Request,
    job_id: Annotated[Name | None, Query()] = None,
    cluster: Annotated[Name | None, Query()] = None,
) -> Response:
    """The tar that the script sends; where the incident is, and what was refused, as JSON."""
    try:
        check_csrf(request, request.headers.get(_CSRF_HEADER))
        ctx = get_state(request).context
        body = UploadBody(request, ctx.settings.max_bundle_bytes)
        named = job_id or f"{read_utc_now():upload-%Y%m%d-%H%M%S}"
        target = Target(named, cluster=cluster, caller=get_caller(request))
        taken = await take_in_turn(
            get_state(request), body, partial(take_bundle, ctx, target, body.read, None)
        )
        await to_thread.run_sync(_settle_now, ctx, taken.incident_id)
    except Refusal as refusal:  # a script reads this
        return answer_refusal(request, refusal)
    refused = [
        {"name": member.member, "reason": member.reason}
        for member in taken.members
        if member.status >= 400
    ]
    return make_json_response(
        {
            "incident": f"/incidents/{quote(taken.incident_id)}",
            "num_files": len(taken.members),
            "refused": refused,
        }
    )


def _settle_now(ctx: Context, incident_id: str) -> None:
    """A person has chosen all there is; waiting would only look as if nothing happened.

    An incident that somebody reported goes on waiting for what it expects.
    """
    with ctx.database.writing() as session:
        settling.settle_early(session, incident_id, read_utc_now())
