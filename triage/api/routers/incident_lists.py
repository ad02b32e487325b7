"""Lists that belong to one incident: files, evidence, collectives, what came first."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from triage.api.access import Scope
from triage.api.answers.json import page, page_of_rows
from triage.api.description.shapes import page as page_shape
from triage.api.requests.cursors import (
    make_id_cursor,
    make_time_cursor,
    parse_id_cursor,
    parse_place_cursor,
    parse_time_cursor,
    place_cursor,
)
from triage.api.requests.values import Cursor, Limit, Name, Role, RowKind
from triage.api.routers.incidents import PREFIX, TAG, find_incident
from triage.api.routers.uploads import ARTIFACT
from triage.api.routes import Routes
from triage.api.state import get_state
from triage.domain.evidence import EvidenceRow
from triage.domain.report import CollectiveAtFrontier, Moment
from triage.errors import Conflict
from triage.render.data import wire
from triage.store.incidents import revisions
from triage.store.uploads import artifacts, evidence
from triage.store.views import ArtifactView

if TYPE_CHECKING:
    from models import Revision

routes = Routes(PREFIX, TAG, Scope.READ)


@routes.get(
    "/{id}/artifacts",
    "The files of an incident",
    ("In the order they came.", page_shape(ARTIFACT, "files")),
    refuses=(404,),
)
def incident_artifacts(
    request: Request,
    id: str,  # noqa: A002
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """What came in, and what became of it."""
    after = parse_time_cursor("artifacts", cursor)
    with get_state(request).context.database.reading() as session:
        incident = find_incident(request, session, id)
        rows = artifacts.list_by_incident(session, incident.id, after=after, limit=limit + 1)

    def cursor_of(row: ArtifactView) -> str:
        return make_time_cursor("artifacts", row.created_at, row.id)

    return page_of_rows(request, rows, limit, cursor_of, ArtifactView.to_dict)


@routes.get(
    "/{id}/evidence",
    "What was read out of the files",
    ("In the order read.", page_shape(EvidenceRow, "evidence")),
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
    ("One a collective.", page_shape(CollectiveAtFrontier, "collectives")),
    refuses=(404, 409),
)
def incident_collectives(
    request: Request,
    id: str,  # noqa: A002
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Who waits, who is missing, who disagrees; empty before the first verdict."""
    revision = _find_newest(request, id)
    rows = [] if revision is None else wire.report(revision.reported())["groups"]
    return _list_page(request, "collectives", revision, rows, cursor, limit)


@routes.get(
    "/{id}/timeline",
    "What came first",
    ("In the order of time.", page_shape(Moment, "the timeline")),
    refuses=(404, 409),
)
def incident_timeline(
    request: Request,
    id: str,  # noqa: A002
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """The first root evidence of each node beside the stop; empty before the first verdict."""
    revision = _find_newest(request, id)
    rows = [] if revision is None else wire.list_moments(revision.reported())
    return _list_page(request, "timeline", revision, rows, cursor, limit)


def _find_newest(request: Request, incident_id: str) -> "Revision | None":
    with get_state(request).context.database.reading() as session:
        return revisions.find_newest(session, find_incident(request, session, incident_id).id)


def _list_page(
    request: Request,
    kind: str,
    revision: "Revision | None",
    rows: Sequence[Mapping[str, Any]],
    cursor: str | None,
    limit: int,
) -> Response:
    """One page of a list that belongs to one answer.

    Raises :class:`Conflict` when the answer was revised since the page before.
    """
    number = 0 if revision is None else revision.revision
    seen = parse_place_cursor(kind, cursor)
    if seen is not None and seen[0] != number:
        raise Conflict(
            f"the list is of revision {seen[0]}, the answer is now at revision {number}",
            hint="start again without a cursor",
        )
    start = 0 if seen is None else seen[1]
    end = start + limit
    more = place_cursor(kind, number, end) if end < len(rows) else None
    return page(request, rows[start:end], more)
