"""The evidence of an incident: rows, filtered, and its files as they came."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from triage.api.access import Scope
from triage.api.description.described import BINARY
from triage.api.requests.cursors import (
    make_id_cursor,
    make_time_cursor,
    parse_id_cursor,
    parse_time_cursor,
)
from triage.api.requests.values import Cursor, FileName, Name, RowKind, check_choice, check_query
from triage.api.state import get_state
from triage.domain.evidence import EvidenceRole as Role
from triage.domain.evidence import Kind
from triage.domain.file_kind import FileKind
from triage.domain.patterns import compile_re
from triage.services.uploads.raw_file import find_stored_file, read_lines_around, read_pieces
from triage.store.uploads import artifacts, evidence
from triage.web.access import admit
from triage.web.filters import encode_kept_filters
from triage.web.pages import page, page_router
from triage.web.requests import drop_blanks, find_page_incident

router = page_router("/incidents", admit(Scope.READ))
_ROWS = 50
_FILES = 200
_AROUND = 100
_UNSAFE = compile_re(r"[^A-Za-z0-9._-]+")
# The default is `root`: a log has thousands of rows that only follow from it.
_ANY = "any"


EvidenceRole = Annotated[str, Query(), check_choice(*Role, _ANY)]
EvidenceKind = Annotated[RowKind | None, Query()]


def collect_evidence_values(
    request: Request,
    incident_id: str,
    role: str,
    node: str | None,
    kind: str | None,
    cursor: str | None,
) -> dict[str, Any]:
    """The values that the template of evidence shows."""
    with get_state(request).context.database.reading() as session:
        rows = evidence.list_by_incident(
            session,
            incident_id,
            after=parse_id_cursor("evidence", cursor),
            limit=_ROWS + 1,
            role=None if role == _ANY else role,
            node=node,
            kind=kind,
        )
    shown = rows[:_ROWS]
    return {
        "rows": [row for _, row in shown],
        "more": make_id_cursor("evidence", shown[-1][0]) if rows[_ROWS:] else None,
        "first": cursor is None,
        "asked": {"role": role, "node": node or "", "kind": kind or ""},
        "kinds": [*Kind, "fr"],
        "any_role": _ANY,
    }


@router.get(
    "/{id}/evidence",
    name="page_evidence",
    dependencies=[Depends(drop_blanks("role", "node", "kind"))],
)
def evidence_part(
    request: Request,
    id: str,  # noqa: A002
    role: EvidenceRole = "root",
    node: Annotated[Name | None, Query()] = None,
    kind: EvidenceKind = None,
    cursor: Cursor = None,
) -> Response:
    """The table alone, for the script that puts it into the page."""
    incident = find_page_incident(request, id)
    rows = collect_evidence_values(request, incident.id, role, node, kind, cursor)
    # The part has an address of its own, the page with it another one: people share that.
    whole = f"/incidents/{quote(incident.id)}?{encode_kept_filters(rows['asked'])}#evidence"
    return page(
        request, "_evidence.html", headers={"HX-Replace-Url": whole}, incident=incident, **rows
    )


@router.get("/{id}/files", name="page_files", dependencies=[Depends(check_query("cursor"))])
def files(request: Request, id: str, cursor: Cursor = None) -> Response:  # noqa: A002
    """The files that came in, with the state of each."""
    incident = find_page_incident(request, id)
    after = parse_time_cursor("artifacts", cursor)
    with get_state(request).context.database.reading() as session:
        rows = artifacts.list_by_incident(session, incident.id, after=after, limit=_FILES + 1)
        in_states = artifacts.count_by_state(session, incident.id)
    shown = rows[:_FILES]
    more = (
        make_time_cursor("artifacts", shown[-1].created_at, shown[-1].id) if rows[_FILES:] else None
    )
    return page(
        request,
        "files.html",
        incident=incident,
        rows=shown,
        more=more,
        files=in_states,
        first=cursor is None,
    )


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
