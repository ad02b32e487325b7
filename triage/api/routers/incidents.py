"""Incidents: what happened, who is suspect, why, and what it turned out to be."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, actor_of, admitted
from triage.api.answers import suspect_forms
from triage.api.answers.json import JSON, as_json, page, tagged
from triage.api.description.described import answers, json_body, scoped
from triage.api.description.schemas import (
    ArtifactPage,
    CollectivePage,
    EvidencePage,
    IncidentPage,
    OneIncident,
    Report,
    Resolution,
    Suspects,
    TimelinePage,
)
from triage.api.requests.accept import chosen
from triage.api.requests.body import read_whole
from triage.api.requests.cursors import (
    after_id,
    after_place,
    after_time,
    id_cursor,
    place_cursor,
    time_cursor,
)
from triage.api.requests.idempotency import Keeper, once
from triage.api.requests.shapes import only, text_in
from triage.api.requests.strict_json import object_from
from triage.api.requests.values import (
    CategoryName,
    Cursor,
    Limit,
    Name,
    Role,
    RowKind,
    Since,
    StateName,
    Wait,
    known_query,
    one_id,
    one_name,
)
from triage.api.state import state_of
from triage.domain.answer_wire import MEDIA_TYPE as WHOLE
from triage.domain.states import IncidentState
from triage.errors import Conflict, NotFound
from triage.notify.message import Event
from triage.notify.ticket import as_markdown
from triage.services.context import Context
from triage.services.incidents.repeats import repeats_of
from triage.services.incidents.resolve import resolve
from triage.services.notifications.outbox import message_of
from triage.store.incidents import incidents, revisions, suspects
from triage.store.uploads import artifacts, evidence
from triage.store.views import IncidentView, ResolutionView, RevisionView

__all__ = ["router", "waiting"]

router = APIRouter(
    prefix="/v1/incidents", tags=["incidents"], dependencies=[Depends(admitted(Scope.READ))]
)
# Waiting costs nothing, so it is not counted.
waiting = APIRouter(
    prefix="/v1/incidents",
    tags=["incidents"],
    dependencies=[Depends(admitted(Scope.READ, paced=False))],
)

LISTED = "GET /v1/incidents lists them"
REFUSALS = (401, 403, 404, 422, 429)
UNCHANGED = ("Unchanged since the answer with this ETag.", None)
PAGED = [Depends(known_query("cursor", "limit"))]


def found(session: Session, incident_id: str) -> IncidentView:
    """The incident of this id. Raises :class:`NotFound`."""
    incident = incidents.find(session, one_id(incident_id, "incident", LISTED))
    if incident is None:
        raise NotFound("there is no such incident", hint=LISTED)
    return incident


@router.get(
    "",
    summary="List incidents",
    dependencies=[
        Depends(known_query("job_id", "node", "category", "state", "since", "cursor", "limit"))
    ],
    responses=answers(401, 403, 422, 429, ok={200: ("Newest first.", IncidentPage)}),
    openapi_extra=scoped(Scope.READ),
)
def list_incidents(
    request: Request,
    job_id: Annotated[Name | None, Query()] = None,
    node: Annotated[Name | None, Query(description="Among the suspects.")] = None,
    category: Annotated[CategoryName | None, Query()] = None,
    state: Annotated[StateName | None, Query()] = None,
    since: Annotated[Since | None, Query(description="Opened then or later.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """The newest first; a page stays what it is while incidents are added."""
    before = after_time("incidents", cursor)
    with state_of(request).context.database.reading() as session:
        rows = incidents.listing(
            session,
            job_id=job_id,
            node=node,
            category=category,
            state=state,
            since=since,
            before=before,
            limit=limit + 1,
        )
    shown = rows[:limit]
    more = time_cursor("incidents", shown[-1].created_at, shown[-1].id) if rows[limit:] else None
    return page(request, [row.to_dict() for row in shown], more)


@router.get(
    "/{id}",
    summary="One incident",
    dependencies=[Depends(known_query())],
    responses=answers(*REFUSALS, ok={200: ("The incident.", OneIncident), 304: UNCHANGED}),
    openapi_extra=scoped(Scope.READ),
)
def incident(request: Request, id: str) -> Response:  # noqa: A002
    """Its state, verdict, coverage, resolution and times, and what it may be a repeat of."""
    with state_of(request).context.database.reading() as session:
        one = found(session, id)
        repeats = [repeat.to_dict() for repeat in repeats_of(session, one.id)]
    return tagged(request, orjson.dumps({**one.to_dict(), "repeats": repeats}), JSON)


@router.get(
    "/{id}/report",
    summary="The whole report",
    dependencies=[Depends(known_query())],
    responses=answers(
        409, *REFUSALS,
        ok={200: ("`triage.report/1`.", Report), 304: UNCHANGED},
        content={WHOLE: {"schema": {"type": "string", "format": "binary"}}},
    ),
    openapi_extra=scoped(Scope.READ),
)  # fmt: skip
def incident_report(request: Request, id: str) -> Response:  # noqa: A002
    """As `triage analyze --format json` prints it; 409 before the first verdict. Whoever accepts
    `application/vnd.nccl-triage.answer` gets the stored answer, with what pictures need.
    """
    with state_of(request).context.database.reading() as session:
        incident = found(session, id)
        revision = revisions.newest(session, incident.id)
    if revision is None:
        raise Conflict(
            f"the incident is {incident.state} and has no verdict yet",
            hint=f"GET /v1/incidents/{incident.id}/suspects?wait_s=60 waits for it",
        )
    if any(WHOLE in header.lower() for header in request.headers.getlist("accept")):
        return tagged(request, revision.answer, WHOLE, vary=True)
    return tagged(request, revision.report.encode("utf-8", "replace"), JSON, vary=True)


@waiting.get(
    "/{id}/suspects",
    summary="The suspects, best first",
    dependencies=[Depends(known_query("wait_s"))],
    responses=answers(
        406, *REFUSALS,
        ok={200: ("The ranked answer, in the form that is accepted.", Suspects), 304: UNCHANGED},
        content={
            media: {"schema": {"type": "string"}}
            for media in (suspect_forms.CSV, suspect_forms.NDJSON, suspect_forms.MARKDOWN)
        },
    ),
    openapi_extra=scoped(Scope.READ),
)  # fmt: skip
async def incident_suspects(
    request: Request,
    id: str,  # noqa: A002
    wait_s: Wait = 0.0,
) -> Response:
    """Empty before the first verdict. With `wait_s`, answers as soon as the incident is
    `ready` or `failed`, and with the present state when the time is up.
    """
    state = state_of(request)
    form = chosen(
        ", ".join(request.headers.getlist("accept")),
        (JSON, suspect_forms.CSV, suspect_forms.NDJSON, suspect_forms.MARKDOWN),
    )
    if wait_s == 0:
        state.pace.take(actor_of(request))

    def read() -> tuple[IncidentView, list[dict[str, Any]]]:
        with state.context.database.reading() as session:
            incident = found(session, id)
            return incident, suspects.of_incident(session, incident.id)

    incident, rows = await to_thread.run_sync(read)
    if wait_s > 0 and not settled(incident):
        await state.watch.settled(incident.id, wait_s)
        incident, rows = await to_thread.run_sync(read)
    if form == suspect_forms.MARKDOWN:
        text = await to_thread.run_sync(as_ticket, state.context, incident)
        return tagged(request, text, form, vary=True)
    return tagged(request, shown(form, incident, rows), form, vary=True)


def as_ticket(context: Context, incident: IncidentView) -> bytes:
    """In a thread: the whole answer is read back, which takes a while at 16,384 ranks."""
    with context.database.reading() as session:
        newest = revisions.newest(session, incident.id)
    event = Event.FAILED if newest is None and settled(incident) else Event.READY
    message = message_of(incident, newest, context.settings, event, incident.created_at)
    return as_markdown(message).encode("utf-8", "replace")


def settled(incident: IncidentView) -> bool:
    return incident.state in {IncidentState.READY, IncidentState.FAILED}


def shown(form: str, incident: IncidentView, rows: Sequence[dict[str, Any]]) -> bytes:
    if form == suspect_forms.CSV:
        return suspect_forms.as_csv(rows)
    if form == suspect_forms.NDJSON:
        return suspect_forms.as_ndjson(rows)
    return orjson.dumps(
        {
            "incident_id": incident.id,
            "state": str(incident.state),
            "revision": incident.revision,
            "provisional": incident.provisional,
            "suspects": rows,
        }
    )


@router.get(
    "/{id}/artifacts",
    summary="The files of an incident",
    dependencies=PAGED,
    responses=answers(*REFUSALS, ok={200: ("In the order they came.", ArtifactPage)}),
    openapi_extra=scoped(Scope.READ),
)
def incident_artifacts(
    request: Request,
    id: str,  # noqa: A002
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """What came in, and what became of it."""
    after = after_time("artifacts", cursor)
    with state_of(request).context.database.reading() as session:
        incident = found(session, id)
        rows = artifacts.of_incident(session, incident.id, after=after, limit=limit + 1)
    kept = rows[:limit]
    more = time_cursor("artifacts", kept[-1].created_at, kept[-1].id) if rows[limit:] else None
    return page(request, [row.to_dict() for row in kept], more)


@router.get(
    "/{id}/evidence",
    summary="What was read out of the files",
    dependencies=[Depends(known_query("role", "node", "kind", "cursor", "limit"))],
    responses=answers(*REFUSALS, ok={200: ("In the order read.", EvidencePage)}),
    openapi_extra=scoped(Scope.READ),
)
def incident_evidence(
    request: Request,
    id: str,  # noqa: A002
    role: Annotated[Role | None, Query()] = None,
    node: Annotated[Name | None, Query()] = None,
    kind: Annotated[RowKind | None, Query()] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """The rows of `triage parse`: one dated fact each, before any judgement."""
    after = after_id("evidence", cursor)
    with state_of(request).context.database.reading() as session:
        incident = found(session, id)
        rows = evidence.of_incident(
            session, incident.id, after=after, limit=limit + 1, role=role, node=node, kind=kind
        )
    kept = rows[:limit]
    more = id_cursor("evidence", kept[-1][0]) if rows[limit:] else None
    return page(request, [row for _, row in kept], more)


@router.get(
    "/{id}/collectives",
    summary="Collectives that some entered and not all finished",
    dependencies=PAGED,
    responses=answers(409, *REFUSALS, ok={200: ("One a collective.", CollectivePage)}),
    openapi_extra=scoped(Scope.READ),
)
def incident_collectives(
    request: Request,
    id: str,  # noqa: A002
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Who waits, who is missing, who disagrees; empty before the first verdict."""
    revision = newest(request, id)
    rows = [] if revision is None else orjson.loads(revision.report)["groups"]
    return part_of(request, "collectives", revision, rows, cursor, limit)


@router.get(
    "/{id}/timeline",
    summary="What came first",
    dependencies=PAGED,
    responses=answers(409, *REFUSALS, ok={200: ("In the order of time.", TimelinePage)}),
    openapi_extra=scoped(Scope.READ),
)
def incident_timeline(
    request: Request,
    id: str,  # noqa: A002
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """The first root evidence of each node beside the stop; empty before the first verdict."""
    revision = newest(request, id)
    rows = [] if revision is None else revision.timeline
    return part_of(request, "timeline", revision, rows, cursor, limit)


def newest(request: Request, incident_id: str) -> RevisionView | None:
    with state_of(request).context.database.reading() as session:
        return revisions.newest(session, found(session, incident_id).id)


def part_of(
    request: Request,
    kind: str,
    revision: RevisionView | None,
    rows: Sequence[Mapping[str, Any]],
    cursor: str | None,
    limit: int,
) -> Response:
    """One page of a list that belongs to one answer.

    Raises :class:`Conflict` when the answer was revised since the page before.
    """
    number = 0 if revision is None else revision.revision
    seen = after_place(kind, cursor)
    if seen is not None and seen[0] != number:
        raise Conflict(
            f"the list is of revision {seen[0]}, the answer is now at revision {number}",
            hint="start again without a cursor",
        )
    start = 0 if seen is None else seen[1]
    end = start + limit
    more = place_cursor(kind, number, end) if end < len(rows) else None
    return page(request, rows[start:end], more)


@router.post(
    "/{id}/resolution",
    status_code=201,
    summary="Say what it turned out to be",
    dependencies=[Depends(known_query())],
    responses=answers(
        *(400, 408, 409, 413, 415, 507),
        *REFUSALS,
        ok={201: ("Kept; said again, replaced.", Resolution)},
    ),
    openapi_extra=scoped(
        Scope.READ,
        json_body(
            "NewResolution",
            {"cable": {"category": "network", "node": "n3", "note": "cable replaced"}},
        ),
        repeatable=True,
    ),
)
async def resolve_incident(request: Request, id: str) -> Response:  # noqa: A002
    """The label that the accuracy of the service is measured against."""
    ctx = state_of(request).context
    incident_id = one_id(id, "incident", LISTED)
    body = await read_whole(request, ctx.settings.max_hook_bytes)

    def as_answer(kept: ResolutionView) -> Response:
        return as_json(kept.to_dict(), 201, {"Location": f"/v1/incidents/{quote(incident_id)}"})

    def act(keeper: Keeper) -> Response:
        with ctx.database.reading() as session:
            found(session, incident_id)
        said = object_from(body)
        only(said, ("category", "node", "note"), ("category",))
        node = text_in(said, "node")
        kept = resolve(
            ctx,
            incident_id,
            text_in(said, "category") or "",
            None if node is None else one_name(node, "body/node"),
            text_in(said, "note"),
            actor_of(request),
            also=lambda session, kept: keeper.answer(session, as_answer(kept)),
        )
        return as_answer(kept)

    return await to_thread.run_sync(once, request, body, act)
