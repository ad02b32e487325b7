"""Uploading without any client: a folder or a tar, dropped or chosen.

With the script, the browser packs what was dropped into one tar and streams it. Without
it, the form sends each file as a part. Both end on the page of the incident.
"""

from functools import partial
from typing import Annotated
from urllib.parse import quote

from anyio import to_thread
from fastapi import Query, Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, get_caller
from triage.api.answers.json import make_json_response
from triage.api.answers.problems import answer_refusal
from triage.api.requests.body import UploadBody
from triage.api.requests.values import Name, check_query
from triage.api.requests.values import name as checked_name
from triage.api.routers.uploads import take_in_turn
from triage.api.state import get_state
from triage.errors import Refusal, Unprocessable
from triage.services.context import Context
from triage.services.uploads.by_hand import Chosen, make_job_id, settle_now, take_chosen
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.web.access import CSRF_FIELD, admit, check_csrf
from triage.web.multipart import Part, iterate_parts, parse_boundary
from triage.web.pages import page, page_router

router = page_router("/upload", admit(Scope.INGEST), check_query("job_id", "cluster"))
_MAX_FIELD_BYTES = 4096
_CSRF_HEADER = "x-triage-word"
# Bytes of the form itself, beside those of its files.
_FORM_BYTES = 64 << 20


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


@router.post("", name="page_uploaded")
async def uploaded(request: Request) -> Response:
    """The form as a browser without our script sends it; to the incident, when all is in."""
    ctx = get_state(request).context
    boundary = parse_boundary(request.headers.get("content-type", ""))
    body = UploadBody(request, ctx.settings.max_bundle_bytes + _FORM_BYTES)
    chosen = await take_in_turn(
        get_state(request), body, partial(_take_form, request, ctx, body, boundary)
    )
    if chosen.incident_id is None:
        raise Unprocessable(
            _explain_nothing_taken(chosen),
            hint="choose dumps, kernel logs and job logs, or a tar of them",
        )
    if any(outcome.state == "refused" for outcome in chosen.outcomes):
        return page(request, "uploaded.html", chosen=chosen)
    return RedirectResponse(f"/incidents/{quote(chosen.incident_id)}", 303)


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
        target = Target(job_id or make_job_id(), cluster=cluster, caller=get_caller(request))
        taken = await take_in_turn(
            get_state(request), body, partial(take_bundle, ctx, target, body.read, None)
        )
        await to_thread.run_sync(settle_now, ctx, taken.incident_id)
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


def _take_form(request: Request, ctx: Context, body: UploadBody, boundary: str) -> Chosen:
    """The files of the form, one after the other. Raises :class:`Refusal` for the form itself."""
    chosen = Chosen(make_job_id(), caller=get_caller(request))
    signed = False
    for part in iterate_parts(body, boundary):
        if part.filename is None:
            signed = _take_form_field(request, part, chosen) or signed
            continue
        if not signed:  # the page has it before the files
            check_csrf(request, None)
        if part.filename:
            take_chosen(ctx, chosen, part.filename, part)
    if chosen.incident_id is not None:
        settle_now(ctx, chosen.incident_id)
    return chosen


def _take_form_field(request: Request, part: Part, chosen: Chosen) -> bool:
    """Take a field in; whether it was the one that signs the form."""
    text = part.text(_MAX_FIELD_BYTES).strip()
    if part.name == CSRF_FIELD:
        check_csrf(request, text)
        return True
    if part.name in {"job_id", "cluster"} and text:
        try:
            setattr(chosen, part.name, checked_name(text))
        except ValueError as error:
            what = "job" if part.name == "job_id" else "cluster"
            raise Unprocessable(f"the {what}: {error}", hint="give it another name") from error
    return False


def _explain_nothing_taken(chosen: Chosen) -> str:
    refused = [outcome for outcome in chosen.outcomes if outcome.reason]
    if not refused:
        return "no file was chosen"
    return f"not one of {len(refused):,} files was taken; {refused[0].name}: {refused[0].reason}"
