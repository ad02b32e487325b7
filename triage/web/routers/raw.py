"""A file as it came: around one line, or whole as a download."""

from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from triage.api.access import Scope
from triage.api.description.described import BINARY
from triage.api.requests.values import FileName, check_query
from triage.api.state import get_state
from triage.domain.file_kind import FileKind
from triage.domain.patterns import compile_re
from triage.services.uploads.raw_file import find_stored_file, read_lines_around, read_pieces
from triage.store.uploads import evidence
from triage.web.access import admit
from triage.web.pages import page
from triage.web.requests import find_page_incident
from triage.web.route import page_router

router = page_router("/incidents", admit(Scope.READ))
_AROUND = 100
_UNSAFE = compile_re(r"[^A-Za-z0-9._-]+")


@router.get("/{id}/raw", name="page_raw", dependencies=[Depends(check_query("file", "line"))])
def raw(
    request: Request,
    id: str,  # noqa: A002
    file: Annotated[FileName, Query()],
    line: Annotated[int, Query(ge=1, le=1 << 40)] = 1,
) -> Response:
    """The lines around one, which is marked; of a dump, what it came down to."""
    incident = find_page_incident(request, id)
    ctx = get_state(request).context
    stored = find_stored_file(ctx, incident.id, file)
    if stored.kind == FileKind.FLIGHT_RECORDER:
        with ctx.database.reading() as session:
            rows = evidence.list_by_artifact(session, stored.id)
        return page(request, "dump.html", incident=incident, file=stored, rows=rows)
    window = read_lines_around(ctx, stored, line, _AROUND)
    return page(
        request,
        "raw.html",
        incident=incident,
        file=stored,
        line=line,
        window=window,
        around=_AROUND,
        asked_for="line" in request.query_params,
    )


@router.get("/{id}/raw/bytes", name="page_bytes", dependencies=[Depends(check_query("file"))])
def raw_bytes(
    request: Request,
    id: str,  # noqa: A002
    file: Annotated[FileName, Query()],
) -> Response:
    """The whole file, to be saved: never as something that a browser would draw."""
    incident = find_page_incident(request, id)
    ctx = get_state(request).context
    stored = find_stored_file(ctx, incident.id, file)
    name = _UNSAFE.sub("_", stored.name)[-120:].lstrip(".") or "file"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, no-cache",
    }
    return StreamingResponse(read_pieces(ctx, stored), media_type=BINARY, headers=headers)
