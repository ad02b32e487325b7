"""Incidents: what happened, who is suspect, their lists, what a person says, and erasing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NotRequired
from urllib.parse import quote

import orjson
from anyio import to_thread
from fastapi import Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, get_actor, get_caller
from triage.api.answers import suspect_forms
from triage.api.answers.json import JSON, make_json_response, make_tagged_response, page_of_rows
from triage.api.answers.json import page as answer_page
from triage.api.answers.suspect_forms import choose_type
from triage.api.description.described import TEXT, describe_json_body
from triage.api.description.shapes import make_shape, page, select_keys
from triage.api.requests.body import JsonBody
from triage.api.requests.cursors import (
    Paged,
    Paging,
    make_id_cursor,
    parse_id_cursor,
    parse_place_cursor,
    parse_time_cursor,
    place_cursor,
)
from triage.api.requests.idempotency import Keeper, answer_once
from triage.api.requests.strict_json import check_keys, get_text, parse_object
from triage.api.requests.values import (
    CategoryName,
    Cursor,
    Limit,
    Name,
    ProblemRef,
    Role,
    RowKind,
    Since,
    StateName,
    Wait,
    check_id,
    check_name,
)
from triage.api.routers.uploads import ARTIFACT
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.answer_wire import MEDIA_TYPE as WHOLE
from triage.domain.evidence import EvidenceRow
from triage.domain.next_step import NextStep, Symptom
from triage.domain.report import (
    Answer,
    CollectiveAtFrontier,
    Moment,
    StandingRanks,
    Suspect,
    WantedFile,
)
from triage.domain.restart import Restart
from triage.domain.states import IncidentState
from triage.domain.wire import Keywords
from triage.errors import Conflict, NotFound
from triage.notify.message import Event
from triage.notify.ticket import render_ticket_markdown
from triage.render.data import wire
from triage.services.context import Context
from triage.services.incidents.resolve import resolve
from triage.services.incidents.wanted import MAX_WANTED
from triage.services.notifications.outbox import make_message
from triage.services.retention.erase import delete_artifact, delete_incident
from triage.store.incidents import incidents, revisions, wanted
from triage.store.uploads import artifacts, evidence
from triage.store.views import IncidentView, ResolutionView
from triage.store.work import table

if TYPE_CHECKING:
    from models import Revision

PREFIX = "/v1/incidents"
TAG = "incidents"
routes = Routes(PREFIX, TAG, Scope.READ)

LISTED = "GET /v1/incidents lists them"
_INCIDENTS = page(IncidentView, "incidents")
_ONE_INCIDENT = make_shape(
    "OneIncident",
    IncidentView,
    doc="One failure of one job, and the files that would tell more.",
    wanted=Annotated[
        list[WantedFile], Keywords(maxItems=MAX_WANTED), "Files that would decide, best first."
    ],
)
_SUSPECTS = make_shape(
    "Suspects",
    select_keys("", "", IncidentView, ("state", "revision", "provisional")),
    doc="The ranked answer.",
    incident_id=str,
    suspects=list[Suspect],
)


def find_incident(request: Request, session: Session, incident_id: str) -> IncidentView:
    """The incident of this id, where the token reaches it. Raises :class:`NotFound`."""
    incident = incidents.find(session, check_id(incident_id, "incident", LISTED))
    if incident is None or not get_caller(request).sees(incident.cluster):
        raise NotFound("there is no such incident", hint=LISTED)
    return incident


@routes.get("", "List incidents", ("Newest first.", _INCIDENTS), refuses=(404,))
def list_incidents(
    request: Request,
    paging: Paged,
    job_id: Annotated[Name | None, Query()] = None,
    cluster: Annotated[Name | None, Query(description="This cluster alone.")] = None,
    node: Annotated[Name | None, Query(description="Among the suspects.")] = None,
    category: Annotated[CategoryName | None, Query()] = None,
    state: Annotated[StateName | None, Query()] = None,
    problem: Annotated[ProblemRef | None, Query(description="Of this recurring problem.")] = None,
    since: Annotated[Since | None, Query(description="Opened then or later.")] = None,
) -> Response:
    """The newest first; a page stays what it is while incidents are added."""
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
            since=since,
            before=parse_time_cursor("incidents", paging.cursor),
            limit=paging.num_rows,
        )
    return paging.answer("incidents", rows)


@routes.get("/{id}", "One incident", ("The incident.", _ONE_INCIDENT), etag=True, refuses=(404,))
def incident(request: Request, id: str) -> Response:  # noqa: A002
    """Its state, verdict, coverage, resolution and times, and the recurring problem it is of."""
    with get_state(request).context.database.reading() as session:
        view = find_incident(request, session, id)
        waits = table.count_by_incident(session, view.id)
        asked = [one.to_dict() for one in wanted.list_wanted(session, view.id)]
    shown = {**view.to_dict(), "wanted": asked}
    if waits:
        files = [{"for": w.part, "files": w.number, "since": w.since.isoformat()} for w in waits]
        shown["coverage"] = {**(view.coverage or {}), "waiting": files}
    return make_tagged_response(request, orjson.dumps(shown), JSON)


_REPORT = make_shape(
    "Answer",
    Answer,
    restart=NotRequired[
        Annotated[Restart, "Whether to start the job again; absent where nothing stopped it."]
    ],
    next_step=NotRequired[
        Annotated[NextStep, "What to do now; absent from answers of releases before 0.3."]
    ],
    symptoms=NotRequired[
        Annotated[tuple[Symptom, ...], "What was seen first; absent where a cause is known."]
    ],
    stacks=NotRequired[
        Annotated[tuple[StandingRanks, ...], "Where ranks stand; absent where no stack was read."]
    ],
)


@routes.get(
    "/{id}/report",
    "The whole report",
    ("`triage.report/1`.", _REPORT),
    etag=True,
    forms={WHOLE: {"type": "string", "format": "binary"}},
    refuses=(404, 409),
)
def incident_report(request: Request, id: str) -> Response:  # noqa: A002
    """As `triage analyze --format json` prints it; 409 before the first verdict. Whoever accepts
    `application/vnd.nccl-triage.answer` gets the stored answer, with what pictures need.
    """
    with get_state(request).context.database.reading() as session:
        incident = find_incident(request, session, id)
        revision = revisions.find_newest(session, incident.id)
    if revision is None:
        raise Conflict(
            f"the incident is {incident.state} and has no verdict yet",
            hint=f"GET /v1/incidents/{incident.id}/suspects?wait_s=60 waits for it",
        )
    if any(WHOLE in header.lower() for header in request.headers.getlist("accept")):
        return make_tagged_response(request, revision.answer, WHOLE, vary=True)
    return make_tagged_response(request, wire.render(revision.reported()), JSON, vary=True)


@routes.get(
    "/{id}/suspects",
    "The suspects, best first",
    ("The ranked answer, in the form that is accepted.", _SUSPECTS),
    etag=True,
    forms=dict.fromkeys(suspect_forms.FORMS, TEXT),
    refuses=(404, 406, 429),
)
async def incident_suspects(
    request: Request,
    id: str,  # noqa: A002
    wait_s: Wait = 0.0,
) -> Response:
    """Empty before the first verdict. With `wait_s`, answers as soon as the incident is
    `ready` or `failed`, and with the present state when the time is up.
    """
    state = get_state(request)
    form = choose_type(", ".join(request.headers.getlist("accept")), (JSON, *suspect_forms.FORMS))

    def read() -> tuple[IncidentView, list[dict[str, Any]]]:
        with state.context.database.reading() as session:
            incident = find_incident(request, session, id)
            return incident, revisions.list_suspects(session, incident.id)

    incident, rows = await to_thread.run_sync(read)
    if wait_s > 0 and not _is_settled(incident):
        await state.watch.settled(incident.id, wait_s)
        incident, rows = await to_thread.run_sync(read)
    if form == suspect_forms.MARKDOWN:
        text = await to_thread.run_sync(_write_ticket, state.context, incident)
        return make_tagged_response(request, text, form, vary=True)
    return make_tagged_response(request, _write_suspects(form, incident, rows), form, vary=True)


def _write_ticket(context: Context, incident: IncidentView) -> bytes:
    """In a thread: the whole answer is read back, which takes a while at 16,384 ranks."""
    with context.database.reading() as session:
        newest = revisions.find_newest(session, incident.id)
    event = Event.FAILED if newest is None and _is_settled(incident) else Event.READY
    message = make_message(incident, newest, context.settings, event, incident.created_at)
    return render_ticket_markdown(message).encode("utf-8", "replace")


def _is_settled(incident: IncidentView) -> bool:
    return incident.state in {IncidentState.READY, IncidentState.FAILED}


def _write_suspects(form: str, incident: IncidentView, rows: Sequence[dict[str, Any]]) -> bytes:
    if form == suspect_forms.CSV:
        return suspect_forms.write_csv(rows)
    if form == suspect_forms.NDJSON:
        return suspect_forms.write_ndjson(rows)
    return orjson.dumps(
        {
            "incident_id": incident.id,
            "state": str(incident.state),
            "revision": incident.revision,
            "provisional": incident.provisional,
            "suspects": rows,
        }
    )


erasing = Routes("/v1", TAG, Scope.ADMIN)
_Reason = Annotated[str, Query(description="Why; the audit trail keeps it.", max_length=1000)]


@erasing.delete("/incidents/{id}", "Erase an incident", "Gone.", refuses=(404, 409, 410, 507))
def erase_incident(request: Request, id: str, reason: _Reason = "") -> Response:  # noqa: A002
    """Its files, what was read of them, answers and messages. Who was told of it is told."""
    incident_id = check_id(id, "incident", LISTED)
    delete_incident(get_state(request).context, incident_id, get_actor(request), reason)
    return Response(status_code=204)


@erasing.delete("/artifacts/{id}", "Erase one file", "Gone.", refuses=(404, 409, 410, 507))
def erase_artifact(request: Request, id: str, reason: _Reason = "") -> Response:  # noqa: A002
    """Its incident is answered again without it; the same file is not taken again."""
    artifact_id = check_id(id, "artifact", "GET /v1/incidents/{id}/artifacts lists them")
    delete_artifact(get_state(request).context, artifact_id, get_actor(request), reason)
    return Response(status_code=204)


@routes.post(
    "/{id}/resolution",
    "Say what it turned out to be",
    {201: ("Kept; said again, replaced.", ResolutionView)},
    body=describe_json_body("NewResolution"),
    repeatable=True,
    refuses=(404,),
)
def resolve_incident(request: Request, id: str, body: JsonBody) -> Response:  # noqa: A002
    """The label that the accuracy of the service is measured against."""
    ctx = get_state(request).context
    incident_id = check_id(id, "incident", LISTED)

    def as_answer(kept: ResolutionView) -> Response:
        return make_json_response(
            kept.to_dict(), 201, {"Location": f"/v1/incidents/{quote(incident_id)}"}
        )

    def act(keeper: Keeper) -> Response:
        with ctx.database.reading() as session:
            find_incident(request, session, incident_id)
        label = parse_object(body)
        check_keys(label, ("category", "node", "note"), ("category",))
        node = get_text(label, "node")
        kept = resolve(
            ctx,
            incident_id,
            get_text(label, "category") or "",
            None if node is None else check_name(node, "body/node"),
            get_text(label, "note"),
            get_actor(request),
            also=lambda session, kept: keeper.answer(session, as_answer(kept)),
        )
        return as_answer(kept)

    return answer_once(request, body, act)


@routes.get(
    "/{id}/artifacts",
    "The files of an incident",
    ("In the order they came.", page(ARTIFACT, "files")),
    refuses=(404,),
)
def incident_artifacts(request: Request, paging: Paged, id: str) -> Response:  # noqa: A002
    """What came in, and what became of it."""
    with get_state(request).context.database.reading() as session:
        incident = find_incident(request, session, id)
        after = parse_time_cursor("artifacts", paging.cursor)
        rows = artifacts.list_by_incident(session, incident.id, after=after, limit=paging.num_rows)
    return paging.answer("artifacts", rows)


@routes.get(
    "/{id}/evidence",
    "What was read out of the files",
    ("In the order read.", page(EvidenceRow, "evidence")),
    refuses=(404,),
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
    after = parse_id_cursor("evidence", cursor)
    with get_state(request).context.database.reading() as session:
        incident = find_incident(request, session, id)
        rows = evidence.list_by_incident(
            session, incident.id, after=after, limit=limit + 1, role=role, node=node, kind=kind
        )
    return page_of_rows(
        request, rows, limit, lambda row: make_id_cursor("evidence", row[0]), lambda row: row[1]
    )


@routes.get(
    "/{id}/collectives",
    "Collectives that some entered and not all finished",
    ("One a collective.", page(CollectiveAtFrontier, "collectives")),
    refuses=(404, 409),
)
def incident_collectives(request: Request, paging: Paged, id: str) -> Response:  # noqa: A002
    """Who waits, who is missing, who disagrees; empty before the first verdict."""
    revision = _find_newest(request, id)
    rows = [] if revision is None else wire.report(revision.reported())["groups"]
    return _list_page(paging, "collectives", revision, rows)


@routes.get(
    "/{id}/timeline",
    "What came first",
    ("In the order of time.", page(Moment, "the timeline")),
    refuses=(404, 409),
)
def incident_timeline(request: Request, paging: Paged, id: str) -> Response:  # noqa: A002
    """The first root evidence of each node beside the stop; empty before the first verdict."""
    revision = _find_newest(request, id)
    rows = [] if revision is None else wire.list_moments(revision.reported())
    return _list_page(paging, "timeline", revision, rows)


def _find_newest(request: Request, incident_id: str) -> "Revision | None":
    with get_state(request).context.database.reading() as session:
        return revisions.find_newest(session, find_incident(request, session, incident_id).id)


def _list_page(
    paging: Paging, kind: str, revision: "Revision | None", rows: Sequence[Mapping[str, Any]]
) -> Response:
    """One page of a list that belongs to one answer.

    Raises :class:`Conflict` when the answer was revised since the page before.
    """
    number = 0 if revision is None else revision.revision
    seen = parse_place_cursor(kind, paging.cursor)
    if seen is not None and seen[0] != number:
        raise Conflict(
            f"the list is of revision {seen[0]}, the answer is now at revision {number}",
            hint="start again without a cursor",
        )
    start = 0 if seen is None else seen[1]
    end = start + paging.limit
    more = place_cursor(kind, number, end) if end < len(rows) else None
    return answer_page(paging.request, rows[start:end], more)
